"""The report in a real browser, opened from disk with no network."""

import re
import shutil
import subprocess
import unicodedata
from base64 import b64decode
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from dpgrs.reporting import pages, rendering
from dpgrs.reporting.charts import FEW_BARS
from dpgrs.steps.render_release_report import render_release_report
from release_report_data import make_release
from report_data import NASTY_NAME, ONE_DESIGN, make_attacks, make_screened_data
from svg_drawings import numbers as numbers_of
from svg_drawings import paths

pytestmark = pytest.mark.browser

N_OUTCOMES, CHUNK_SIZE = 22, 12
BANNER_COLORS = {"benchmark": "rgba(138, 28, 0, 1)", "release": "rgba(20, 83, 45, 1)"}
PAGES = ("index.html", "outcomes/01/outcome_0001.html")
LONG_NAME = "mean_corpuscular_haemoglobin_" * 8
# Every frame of a figure or a table: whether it scrolls sideways, and whether it says so.
TALL = """
    return Array.from(document.querySelectorAll(".tall"), (table) => [
        getComputedStyle(table, "::after").opacity > 0, table.scrollHeight > table.clientHeight
            && table.querySelectorAll("tbody tr").length > 5]);
"""
FRAMES = """
    return Array.from(document.querySelectorAll(".wide, .scroll"), (frame) => {
        const hint = getComputedStyle(frame, "::before");
        return {
            scrolls: frame.scrollWidth > frame.clientWidth,
            says: hint.content.includes("Scroll sideways") && parseFloat(hint.height) > 10,
        };
    });
"""
# All that frames of tables and figures hold, and the banner.
FRAMED = """
    const framed = document.querySelectorAll(".banner, .scroll th, .scroll td, .wide text");
    return Array.from(framed, (one) => one.textContent).join("\\n");
"""
# The colour of the banner's text and of what is behind it.
BANNER = """
    const style = getComputedStyle(document.querySelector(".banner"));
    return [style.color, style.backgroundColor];
"""
FLAGS = ("--headless", "--no-sandbox", "--no-first-run")
FLAGS += tuple(f"--disable-{part}" for part in ("gpu", "background-networking", "component-update", "sync"))
FLAGS += ("--disable-dev-shm-usage",)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report whose outcome pages fill two folders."""
    data = make_screened_data(n_outcomes=N_OUTCOMES, replicates=1, epsilons=(1.0, 16.0))
    data = replace(data, attacks=make_attacks())
    directory = tmp_path_factory.mktemp("browser") / "report"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "MIN_CHUNK_SIZE", CHUNK_SIZE)
        pages.write_overview(data, directory)
        write = pages.outcome_writer(data)
        for chunk in rendering.chunks(N_OUTCOMES):
            write(chunk.first, chunk.last, directory / "outcomes" / chunk.name)
    return directory


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The report of a release."""
    names = (NASTY_NAME, LONG_NAME, *(f"simulated_{i:04d}" for i in range(3, N_OUTCOMES + 1)))
    arguments = make_release(tmp_path_factory.mktemp("browser") / "study", outcomes=names)
    render_release_report(**arguments, processes=1)
    return arguments["output"]


@pytest.fixture(scope="module")
def reports(report, release):
    return {"benchmark": report, "release": release}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Headless Chromium with a profile of its own."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("no chromium or chromedriver; install the Debian packages chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(driver))
    yield browser
    browser.quit()


@pytest.fixture
def overview(browser, report):
    browser.get((report / "index.html").as_uri())
    return browser


def click(browser, element):
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def heading(browser, table, text):
    return browser.find_element(By.XPATH, f"//table[@id='{table}']//th[button[normalize-space()='{text}']]")


def column(browser, number, attribute):
    """Return what the shown rows of the table of outcomes hold in a column."""
    script = """
        const rows = Array.from(document.querySelector("#outcome-table").tBodies[0].rows);
        return rows.filter((row) => row.offsetParent !== null)
            .map((row) => row.cells[arguments[0]])
            .map((cell) => arguments[1] ? cell.dataset.value : cell.innerText);
    """
    return browser.execute_script(script, number, attribute)


def numbers(browser, number):
    return [float(text) for text in column(browser, number, True)]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize(
    ("mode", "page"),
    [*product(BANNER_COLORS, PAGES), ("release", "outcomes/01/outcome_0002.html")],
)
def test_pages__open_without_errors_or_sideways_scroll(browser, reports, mode, page, width):
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        browser.get((reports[mode] / page).as_uri())

        assert browser.get_log("browser") == []
        # The vertical scroll bar of a wide window takes some of it.
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script("return window.innerWidth") == width
        # The style is there: the banner has its colour.
        banner = browser.find_element(By.CLASS_NAME, "banner")
        assert banner.is_displayed()
        assert banner.value_of_css_property("background-color") == BANNER_COLORS[mode]
        drawings = browser.find_elements(By.CSS_SELECTOR, ".drawing svg")
        # The overview of a release has tables alone.
        assert len(drawings) >= {"benchmark": 2, "release": page != "index.html"}[mode]
        assert all(drawing.size["width"] > 200 and drawing.size["height"] > 50 for drawing in drawings)
        # What scrolls sideways says so, and nothing else does.
        frames = browser.execute_script(FRAMES)
        assert [frame["says"] for frame in frames] == [frame["scrolls"] for frame in frames]
        assert any(frame["scrolls"] for frame in frames) or width > 600
        # So does what scrolls down; a short table shows all of its lines.
        assert all(says == is_long for says, is_long in browser.execute_script(TALL))
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def words(text):
    """Count the words of a text; longer ones may be broken."""
    return Counter(re.findall(r"\b[A-Za-z]{3,12}\b", unicodedata.normalize("NFKC", text)))


@pytest.mark.parametrize(("mode", "page"), [*product(BANNER_COLORS, PAGES)])
def test_pages__print_every_column(browser, reports, tmp_path, mode, page):
    if not shutil.which("pdftotext"):
        pytest.skip("no pdftotext; install the Debian package poppler-utils")
    browser.get((reports[mode] / page).as_uri())
    framed = words(browser.execute_script(FRAMED))
    assert framed.total() > 30
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    (tmp_path / "page.pdf").write_bytes(b64decode(printed["data"]))
    command = ["pdftotext", tmp_path / "page.pdf", "-"]
    text = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    # Heads stand again on each page where a table goes on.
    assert framed - words(text) == Counter()


@pytest.mark.parametrize("mode", BANNER_COLORS)
def test_pages__banner_is_legible_on_paper(browser, reports, mode):
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        browser.get((reports[mode] / PAGES[0]).as_uri())
        color, behind = browser.execute_script(BANNER)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert behind == "rgba(0, 0, 0, 0)"
    assert color == BANNER_COLORS[mode].replace("rgba", "rgb").replace(", 1)", ")")


@pytest.mark.parametrize("n_variants", [300, 1200])
def test_outcome_page__the_script_draws_the_bars_of_the_file(browser, tmp_path, n_variants):
    data = make_screened_data(n_variants=n_variants, **ONE_DESIGN)
    pages.write_overview(data, tmp_path / "report")
    pages.outcome_writer(data, figures=tmp_path)(1, 1, tmp_path / "report/outcomes/01")

    browser.get((tmp_path / "report/outcomes/01/outcome_0001.html").as_uri())

    assert browser.get_log("browser") == []
    script = 'return Array.from(document.querySelectorAll("path[data-bars]"), (one) => one.getAttribute("d"))'
    drawn = [numbers_of(d, 3) for d in browser.execute_script(script)]
    files = [tmp_path / f"Outcomes/outcome_0001_{name}.svg" for name in ("weights", "scores")]
    whole = [numbers_of(d, 3) for path in files for d in paths(path.read_text(), commands="MV")]
    # Ticks of causal variants, all of one height, have places of their own.
    whole = [bars for bars in whole if len(bars) >= FEW_BARS and np.ptp(bars[:, 2]) > 0]
    assert len(drawn) == len(whole) >= 5
    for own, bars in zip(drawn, whole, strict=True):
        # The file has no bar that is too short to be seen, and ends where the page has lengths.
        own[:, 2] += own[:, 1]
        own = own[own[:, 1].round(1) != own[:, 2].round(1)]
        assert len(own) == pytest.approx(len(bars), abs=3)
        np.testing.assert_allclose(
            [own.min(axis=0), own.max(axis=0)], [bars.min(axis=0), bars.max(axis=0)], atol=0.1
        )
        assert np.abs(own[:, 1] - own[:, 2]).sum() == pytest.approx(
            np.abs(bars[:, 1] - bars[:, 2]).sum(), rel=0.005
        )


@pytest.mark.parametrize(
    ("mode", "page"),
    [
        ("benchmark", "index.html"),
        ("benchmark", "outcomes/01/outcome_0012.html"),
        ("benchmark", "outcomes/02/outcome_0022.html"),
        ("release", "index.html"),
        ("release", "outcomes/01/outcome_0001.html"),
    ],
)
def test_pages__every_link_leads_to_a_file(browser, reports, mode, page):
    browser.get((reports[mode] / page).as_uri())

    script = "return Array.from(document.querySelectorAll('[href], [src]'), (one) => one.href || one.src)"
    links = [link for link in browser.execute_script(script) if isinstance(link, str) and link != "data:,"]

    assert len(links) >= 3
    for link in links:
        parts = urlparse(link)
        assert parts.scheme == "file"
        assert Path(unquote(parts.path)).is_file(), link


def test_overview__links_to_pages_and_back(overview):
    assert len(column(overview, 0, True)) == N_OUTCOMES
    link = overview.find_element(By.LINK_TEXT, NASTY_NAME)
    click(overview, link)
    assert overview.find_element(By.TAG_NAME, "h1").text == NASTY_NAME
    overview.find_element(By.LINK_TEXT, "Next →").click()
    assert overview.find_element(By.TAG_NAME, "h1").text == "simulated_0002"
    overview.find_element(By.LINK_TEXT, "All outcomes").click()
    assert overview.find_element(By.TAG_NAME, "h1").text == "demo"


def test_outcome_page__next_crosses_the_border_of_chunks(browser, report):
    browser.get((report / "outcomes/01/outcome_0012.html").as_uri())
    browser.find_element(By.LINK_TEXT, "Next →").click()

    assert browser.current_url.endswith("/outcomes/02/outcome_0013.html")
    assert browser.find_element(By.TAG_NAME, "h1").text == "simulated_0013"


def test_sorting__numbers_both_ways_and_back_to_the_first_order(overview):
    gblup = heading(overview, "outcome-table", "GBLUP (not private)")
    before = numbers(overview, 3)
    assert before not in (sorted(before), sorted(before, reverse=True))
    assert gblup.get_attribute("aria-sort") == "none"

    click(overview, gblup.find_element(By.TAG_NAME, "button"))
    assert gblup.get_attribute("aria-sort") == "descending"
    assert numbers(overview, 3) == sorted(before, reverse=True)

    click(overview, gblup.find_element(By.TAG_NAME, "button"))
    assert gblup.get_attribute("aria-sort") == "ascending"
    assert numbers(overview, 3) == sorted(before)

    click(overview, heading(overview, "outcome-table", "No.").find_element(By.TAG_NAME, "button"))
    assert gblup.get_attribute("aria-sort") == "none"
    assert numbers(overview, 3) == before


def test_sorting__names_by_keyboard(overview):
    name = heading(overview, "outcome-table", "Outcome")
    for order in ("ascending", "descending"):
        name.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)

        assert name.get_attribute("aria-sort") == order
        names = [text for text in column(overview, 1, False) if text.startswith("simulated")]
        assert names == sorted(names, reverse=order == "descending")


def test_sorting__methods_without_epsilon_stay_last(overview):
    epsilon = heading(overview, "summary-table", "ε").find_element(By.TAG_NAME, "button")
    script = """
        return Array.from(document.querySelectorAll("#summary-table tbody td:nth-child(2)"),
            (cell) => cell.dataset.value);
    """
    for is_descending in (True, False):
        click(overview, epsilon)

        values = overview.execute_script(script)
        present = [float(value) for value in values if value]
        assert values[len(present) :] == [""] * (len(values) - len(present)) != []
        assert present == sorted(present, reverse=is_descending)


def test_sorting__variants_that_a_fit_did_not_choose_stay_last(browser, report):
    browser.get((report / "outcomes/01/outcome_0002.html").as_uri())
    label = "Kendall + BLUP (full, exact accounting), ε = 16"
    effect = next(
        button
        for button in browser.find_elements(By.CSS_SELECTOR, "#chosen-table thead button")
        if button.text.replace("\u00a0", " ") == label
    )
    for is_descending in (True, False):
        click(browser, effect)

        rows = browser.find_elements(By.CSS_SELECTOR, "#chosen-table tbody tr")
        cells = [row.find_elements(By.TAG_NAME, "td")[-2].get_attribute("data-value") for row in rows]
        effects = [float(cell) for cell in cells if cell]
        assert len(effects) == 3
        assert cells[3:] == [""] * (len(cells) - 3) != []
        assert effects == sorted(effects, reverse=is_descending)


def test_search__hides_other_rows_and_counts(overview):
    box = overview.find_element(By.ID, "search")
    status = overview.find_element(By.ID, "search-status")

    box.send_keys("_001")
    assert column(overview, 1, False) == [f"simulated_{i:04d}" for i in range(10, 20)]
    assert status.text == "10 of 22 outcomes"

    box.clear()
    box.send_keys("ALERT script")
    assert column(overview, 1, False) == [NASTY_NAME]

    box.clear()
    box.send_keys("nothing like it")
    assert column(overview, 1, False) == []
    assert status.text == "0 of 22 outcomes"

    box.send_keys(Keys.CONTROL + "a", Keys.BACKSPACE)
    assert len(column(overview, 1, False)) == N_OUTCOMES
    assert status.text == "22 outcomes"


def test_search__survives_sorting(overview):
    overview.find_element(By.ID, "search").send_keys("_001")
    click(overview, heading(overview, "outcome-table", "No.").find_element(By.TAG_NAME, "button"))
    click(overview, heading(overview, "outcome-table", "No.").find_element(By.TAG_NAME, "button"))

    assert numbers(overview, 0) == list(range(19, 9, -1))


def test_release__sorts_searches_and_leads_to_the_scores(browser, release):
    browser.get((release / "index.html").as_uri())
    assert column(browser, 3, False) == ["withheld"] * N_OUTCOMES

    largest = heading(browser, "outcome-table", "Largest |weight|").find_element(By.TAG_NAME, "button")
    before = numbers(browser, 5)
    click(browser, largest)
    assert numbers(browser, 5) == sorted(before, reverse=True) != before

    browser.find_element(By.ID, "search").send_keys("_001")
    assert sorted(column(browser, 1, False)) == [f"simulated_{i:04d}" for i in range(10, 20)]
    link = browser.find_element(By.CSS_SELECTOR, "[aria-label='Scoring file of simulated_0010']")
    assert link.get_attribute("href").endswith("/study/release/scores/simulated_0010.txt.gz")

    click(browser, browser.find_element(By.LINK_TEXT, "simulated_0010"))
    weight = heading(browser, "weights-table", "Weight").find_element(By.TAG_NAME, "button")
    click(browser, weight)
    cells = browser.find_elements(By.CSS_SELECTOR, "#weights-table tbody td:last-child")
    weights = [float(cell.get_attribute("data-value")) for cell in cells]
    assert weights == sorted(weights, reverse=True)
    assert any(weight < 0 for weight in weights)
    assert any(cell.text.startswith("−") for cell in cells)
