"""How numbers were made, as the end of a page."""

from deepbinaries.experiments.paper.trainings import anchor_of, told

ONE = {"method": "tvdb", "bits": 64, "seed": 0, "seconds": 3.5, "rule": "all"}
OTHER = ONE | {"method": "cca", "proposer": "rpn"}


def test_each_training_is_told_under_its_own_anchor():
    page = told([ONE, OTHER], "table1.json")
    assert f'<dt id="{anchor_of(ONE)}">tvdb, 64 bits, seed 0, 3.5 s</dt>' in page
    assert f'<dt id="{anchor_of(OTHER)}">cca, 64 bits, seed 0, 3.5 s</dt>\n<dd>proposer: rpn</dd>' in page


def test_what_a_making_does_not_have_is_not_told():
    making = {"method": "gram, 500 items", "bits": 128}
    assert f'<dt id="{anchor_of(making)}">gram, 500 items, 128 bits</dt>' in told([making], "time.json")


def test_a_page_without_trainings_says_where_they_stand_and_promises_none_above():
    page = told([], "figure.json")
    assert page == '<p>How each number was made stands in <a href="figure.json">figure.json</a>.</p>'
