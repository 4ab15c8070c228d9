"""A study whose genotypes come from a server that cuts the first connection."""

import gzip

import pytest

from http_server import serving, tree_line
from study_runs import run
from vcf_files import record, vcf_text

pytestmark = pytest.mark.workflow

SAMPLES = tuple(f"person{number}" for number in range(30))
SETTINGS = {
    "study": "fetched",
    "cohort": {
        "source": "vcf",
        "vcf": "downloads/chr{chrom}.vcf.gz",
        "populations": "downloads/people.panel",
    },
    "variants": {"size": 5},
    "outcomes": {"count": 2},
    "replicates": 1,
}


def genotypes(chromosome):
    calls = [
        " ".join("0|1" if (person * 7 + site * site) % 3 else "1|0" for person in range(len(SAMPLES)))
        for site in range(20)
    ]
    records = (record(100 + site, call, contig=chromosome) for site, call in enumerate(calls))
    return gzip.compress(vcf_text(*records, samples=SAMPLES, contigs=(chromosome,)).encode(), mtime=0)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    """The server is on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_fetched_study__cut_resumed_and_never_asked_for_again(tmp_path):
    panel = "sample\tpop\n" + "".join(f"{name}\tGBR\n" for name in SAMPLES)
    with serving() as server:
        address = f"{server.address}/vol1/ftp/release"
        fetch = {"vcf": f"{address}/ALL.chr{{chrom}}.vcf.gz", "populations": f"{address}/all.panel"}
        settings = SETTINGS | {
            "cohort": SETTINGS["cohort"] | {"fetch": fetch | {"manifest": f"{address}/current.tree"}}
        }
        files = {"ALL.chr21.vcf.gz": genotypes("21"), "ALL.chr22.vcf.gz": genotypes("22")}
        files["all.panel"] = panel.encode()
        tree = "".join(tree_line(f"ftp/release/{name}", content) for name, content in files.items())
        served = files | {"current.tree": tree.encode()}
        server.files = {f"/vol1/ftp/release/{name}": content for name, content in served.items()}
        server.faults = {"/vol1/ftp/release/ALL.chr21.vcf.gz": [{"reset": 100}]}
        assert "Fetching downloads/chr21.vcf.gz from" in run(tmp_path, settings).stdout

        downloads = tmp_path / "downloads"
        assert sorted(path.name for path in downloads.iterdir()) == [
            *("chr21.vcf.gz", "chr22.vcf.gz", "people.panel"),
        ]
        assert (downloads / "chr21.vcf.gz").read_bytes() == files["ALL.chr21.vcf.gz"]
        assert server.ranges("/vol1/ftp/release/ALL.chr21.vcf.gz") == [None, "bytes=100-"]
        assert len(server.ranges("/vol1/ftp/release/current.tree")) == 1
        results = tmp_path / "results" / "fetched"
        assert "GBR" in (results / "private" / "population_metrics.tsv").read_text()
        assert (results / "report" / "index.html").is_file()
        assert not (results / "manifest.txt").exists()

        n_asked = len(server.requests)
        assert "Nothing to be done" in run(tmp_path, settings).stdout
        run(tmp_path, settings, "--forceall")
        # Files that are there stay as they are, whatever is made anew from them.
        assert len(server.requests) == n_asked


def test_fetched_study__spoilt_file_fails_alone(tmp_path):
    with serving() as server:
        fetch = {"vcf": f"{server.address}/chr{{chrom}}.vcf.gz", "manifest": f"{server.address}/md5.tree"}
        cohort = SETTINGS["cohort"] | {"populations": None, "fetch": fetch}
        server.files = {f"/chr{name}.vcf.gz": genotypes(name) for name in ("21", "22")}
        tree = "".join(tree_line(path.strip("/"), content) for path, content in server.files.items())
        server.files["/md5.tree"] = tree.encode()
        server.faults = {"/chr22.vcf.gz": [{"corrupt": 50}, {"corrupt": 50}]}
        settings = SETTINGS | {"cohort": cohort}
        process = run(tmp_path, settings, "--keep-going", "--until", "make_variants", check=False)
        assert process.returncode == 1
        assert "as its manifest says, got" in process.stdout
        assert [path.name for path in (tmp_path / "downloads").iterdir()] == ["chr21.vcf.gz"]
        run(tmp_path, settings, "--until", "make_variants")
        assert len(server.ranges("/chr21.vcf.gz")) == 1
