import pytest

from deepbinaries.errors import MissingExtraError, UsageError
from deepbinaries.registry import DATASETS, KINDS, Entry, Registry


def test_a_name_gives_what_is_registered_behind_it():
    assert Registry("function", {"root": Entry("math:sqrt", "")}).load("root")(16) == 4


def test_a_misspelt_name_proposes_the_nearest():
    with pytest.raises(UsageError, match="no dataset is called 'scense'; did you mean 'scenes'?"):
        DATASETS.load("scense")


def test_a_users_own_module_is_loaded_by_its_path():
    assert Registry("method", {}).load("collections:OrderedDict").__name__ == "OrderedDict"


@pytest.mark.parametrize("name", ["no_such_module:Thing", "math:no_such_name", "math:pi", ":"])
def test_a_users_own_name_that_cannot_be_imported_is_one_clear_line(name):
    with pytest.raises(UsageError, match="cannot be imported .*package.module:Name"):
        Registry("method", {}).load(name)


def test_a_missing_optional_dependency_names_its_extra():
    registry = Registry("index", {"milvus": Entry("no_such_package:Index", "", extra="milvus")})
    with pytest.raises(MissingExtraError, match=r"install deepbinaries\[milvus\]"):
        registry.load("milvus")


@pytest.mark.parametrize("kind", KINDS)
def test_every_registered_name_leads_to_code_and_says_what_it_is(kind):
    for name, entry in KINDS[kind].entries.items():
        assert callable(KINDS[kind].load(name))
        assert entry.summary
