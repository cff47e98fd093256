"""The page in a real browser: what people do with it, at a desk and on a telephone. Screenshots go to `build/`."""

import base64
import json
import re
import shutil
from pathlib import Path

import pytest
from photo_library import RED, draw
from playwright.sync_api import expect, sync_playwright

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
SIZES = {"desktop": {"width": 1280, "height": 860}, "phone": {"width": 390, "height": 844}}


@pytest.fixture(scope="session")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no Chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=SIZES)
def page(request, browser, process):
    """A page that has written nothing to its console and has asked nobody else, when the test is over."""
    context = browser.new_context(viewport=SIZES[request.param], has_touch=request.param == "phone")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.size = request.param
    page.said, page.asked = [], []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda asked: page.asked.append(asked.url))
    page.goto(process.address)
    yield page
    context.close()
    assert page.said == []
    assert [url for url in page.asked if not url.startswith((process.address, "blob:", "data:"))] == []


def take(page, name):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.wait_for_timeout(400)  # pictures fade in
    page.screenshot(path=SCREENSHOTS / f"{page.size}-{name}.png")


def ask(page, sentence):
    page.fill("#q", sentence)
    page.press("#q", "Enter")
    expect(page.locator("#summary")).to_contain_text("among")


def tiles(page):
    return page.locator("#groups .tile[data-id]")


def drop(page, path):
    """Drop a file on the page, as a hand would."""
    content = base64.b64encode(path.read_bytes()).decode()
    data = page.evaluate_handle(
        """content => {
            const data = new DataTransfer();
            const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
            data.items.add(new File([bytes], "dropped.png", { type: "image/png" }));
            return data;
        }""",
        content,
    )
    page.dispatch_event("body", "dragenter", {"dataTransfer": data})
    expect(page.locator("#drop")).to_be_visible()
    page.dispatch_event("body", "drop", {"dataTransfer": data})
    expect(page.locator("#summary")).to_contain_text("among")


def test_a_sentence_finds_photographs_and_one_leads_to_others(page):
    expect(tiles(page).first).to_be_visible()
    take(page, "1-start")
    ask(page, "a red")
    expect(tiles(page).first).to_be_visible()
    assert re.search(r"\?q=a\+red$", page.url)
    take(page, "2-found")
    tiles(page).first.click()
    expect(page.locator("#viewer")).to_be_visible()
    page.click("#look")
    expect(page.locator("#boxes rect.box-0")).to_have_count(1)
    take(page, "3-open")
    opened = page.url
    page.click("#like")
    expect(page.locator("#viewer")).to_be_hidden()
    expect(page.locator("#asked")).to_be_visible()
    assert "like=" in page.url
    take(page, "4-like")
    page.go_back()
    expect(page.locator("#viewer")).to_be_visible()
    assert page.url == opened
    page.go_back()
    expect(page.locator("#viewer")).to_be_hidden()
    expect(page.locator("#q")).to_have_value("a red")
    page.go_back()
    expect(page.locator("h1")).to_be_visible()


def test_what_does_not_match_is_shown_when_it_is_asked_for(page):
    ask(page, "a red")
    expect(page.locator("#others")).to_be_visible()
    matches = tiles(page).count()
    page.click("#others")
    expect(page.locator("#summary")).to_contain_text("The nearest come first.")
    assert "least=none" in page.url
    assert tiles(page).count() > matches
    page.go_back()
    expect(tiles(page)).to_have_count(matches)


def test_a_link_shows_what_it_showed(page):
    ask(page, "a red")
    shown = tiles(page).evaluate_all("tiles => tiles.map((one) => one.dataset.id)")
    page.reload()
    expect(tiles(page).first).to_be_visible()
    assert tiles(page).evaluate_all("tiles => tiles.map((one) => one.dataset.id)") == shown


def test_a_dropped_picture_finds_others_and_back_undoes_it(page, tmp_path):
    drop(page, draw(tmp_path / "query.png", RED, seed=99))
    expect(page.locator("#asked")).to_be_visible()
    take(page, "5-dropped")
    page.go_back()
    expect(page.locator("h1")).to_be_visible()


def test_a_chosen_picture_finds_others(page, tmp_path):
    page.set_input_files("#file", draw(tmp_path / "query.png", RED, seed=99))
    expect(page.locator("#summary")).to_contain_text("among")


def test_a_pasted_picture_finds_others(page, tmp_path):
    content = base64.b64encode(draw(tmp_path / "query.png", RED, seed=99).read_bytes()).decode()
    page.evaluate(
        """content => {
            const data = new DataTransfer();
            const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
            data.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
            document.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, cancelable: true }));
        }""",
        content,
    )
    expect(page.locator("#summary")).to_contain_text("among")


def test_captions_are_shown_as_they_stand(page):
    ask(page, "a red")
    expect(page.get_by_text("a red <b>square</b>").first).to_be_visible()
    assert page.locator("main b:text('square')").count() == 0


def test_a_found_caption_leads_to_its_photograph(page):
    ask(page, "a red")
    page.click("#refine")
    page.select_option("#kind", "sentences")
    expect(page.locator(".sentence .tile img.there")).to_have_count(1)
    take(page, "6-captions")
    page.locator(".sentence .tile").click()
    expect(page.locator("#viewer")).to_be_visible()
    expect(page.locator("#facts")).to_contain_text("reds/1.png")
    expect(page.locator("#facts")).to_contain_text("72 × 64 pixels")


def test_a_photograph_has_its_room_before_it_is_there(page):
    page.route("**/thumbnail", lambda _: None)  # never answered
    ask(page, "a red")
    boxes = [tile.bounding_box() for tile in page.locator("#groups .picture").all()]
    assert boxes
    for box in boxes:
        assert box["width"] / box["height"] == pytest.approx(72 / 64, rel=0.02)
    page.unroute_all(behavior="ignoreErrors")


def test_a_word_that_is_not_known_leads_to_the_nearest_one(page):
    ask(page, "a rde")
    page.get_by_role("button", name="red", exact=True).click()
    expect(page.locator("#q")).to_have_value("a red")


def test_the_page_says_why_a_sentence_of_which_little_is_known_finds_nothing(page):
    ask(page, "a red sulla spiaggia")
    expect(page.locator("#summary")).to_contain_text("Nothing matches among")
    expect(page.locator("#notes")).to_contain_text("2 of 4 words are unknown, so nothing counts as a match")


def test_the_answer_shows_that_it_is_exact(page):
    ask(page, "a red")
    page.click(".badge summary")
    expect(page.locator(".proof")).to_contain_text("codes of 64 bits were compared")
    take(page, "6-exact")


def test_filters_are_in_the_address(page):
    ask(page, "a red")
    page.click("#refine")
    page.fill("#folder", "blues")
    page.press("#folder", "Enter")
    page.locator("#folder").blur()
    page.wait_for_url("**folder=blues**")
    take(page, "7-refined")


def test_keys_are_enough(page):
    if page.size == "phone":
        return  # it has none
    page.locator("#q").blur()
    page.keyboard.press("/")
    page.keyboard.type("a red")
    page.keyboard.press("Enter")
    expect(page.locator("#summary")).to_contain_text("among")
    tiles(page).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#viewer")).to_be_visible()
    first = page.url
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(lambda url: url != first)
    page.keyboard.press("c")
    expect(page.locator("#copy")).to_contain_text("Copied")
    assert re.search(r"reds/\d\.png$", page.evaluate("navigator.clipboard.readText()"))
    page.keyboard.press("Escape")
    expect(page.locator("#viewer")).to_be_hidden()
    assert page.evaluate("document.activeElement.className") == "tile"


def answer_with(page, address, content):
    page.route(address, lambda route: route.fulfill(content_type="application/json", body=json.dumps(content)))


NOTHING = {
    "version": "0",
    "can_change": False,
    "kind": "photographs",
    "items": 0,
    "sample": [],
    "problem": "there is no index",
    "indexing": None,
}


def test_an_empty_collection_explains_itself(page):
    answer_with(page, "**/v1/status", NOTHING)
    page.reload()
    expect(page.get_by_text("There are no photographs here yet.")).to_be_visible()
    take(page, "8-empty")


def test_indexing_and_its_failures_are_shown(page):
    run = {"running": True, "done": 1204, "total": 9870, "rate": 8.13, "seconds_left": 1080, "problem": ""}
    answer_with(page, "**/v1/status", NOTHING | {"indexing": run, "failures": 2})
    answer_with(
        page,
        "**/v1/failures",
        {
            "failures": [{"path": "<img src=x onerror=alert(1)>", "reason": "it is empty", "since": "2024-05-31"}],
            "more": False,
        },
    )
    page.reload()
    expect(page.locator("#indexing")).to_contain_text("1,204 of 9,870 · 8.1 a second · 18 min left")
    page.click("#failures")
    expect(page.locator("#failed td").first).to_have_text("<img src=x onerror=alert(1)>")
    take(page, "9-failures")


def test_a_server_that_went_away_is_told_and_asked_again(page):
    page.route("**/v1/search*", lambda route: route.abort())
    page.fill("#q", "a red")
    page.press("#q", "Enter")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/v1/search*")
    page.get_by_role("button", name="Try again").click()
    expect(tiles(page).first).to_be_visible()
    page.said.clear()  # the browser notes the failed request


def test_a_picture_that_is_none_is_told(page, tmp_path):
    (tmp_path / "text.png").write_text("no picture")
    page.set_input_files("#file", tmp_path / "text.png")
    expect(page.get_by_role("alert")).to_contain_text("no picture this program can read")
    page.said.clear()  # the browser notes the status 400


def test_everything_has_a_name_and_fits_the_screen(page):
    ask(page, "a red")
    assert page.locator("img:not([alt])").count() == 0
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, a")].filter((one) =>
            !(one.ariaLabel || one.textContent.trim() || one.title || one.labels?.length || one.hidden)).length"""
    )
    assert nameless == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_page_has_a_dark_side(browser, process):
    context = browser.new_context(viewport=SIZES["desktop"], color_scheme="dark")
    page = context.new_page()
    page.size = "dark"
    page.goto(f"{process.address}?q=a+red")
    expect(tiles(page).first).to_be_visible()
    red, green, blue = map(
        int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]
    )
    assert red + green + blue < 120
    take(page, "2-found")
    context.close()
