"""-m: all jobs run, a table says how each ended, the exit code says whether all went well."""

from sceneloom.data.errors import InputError
from sceneloom.pipelines.cli.start import Job, summary


def test_one_bad_job_does_not_stop_the_others(command, calls, capfd):
    calls.fail = {2: InputError("no photos"), 3: KeyError("bug")}
    assert command("-m", "make", "seed=1,2,3,4") == 1
    assert [c["seed"] for c in calls] == [1, 2, 3, 4]
    said = capfd.readouterr()
    table = said.out[said.out.index("job  status") :].splitlines()
    assert [line.split()[1] for line in table[1:5]] == ["ok", "FAILED", "FAILED", "ok"]
    assert "no photos" in table[2]
    assert "error: no photos" in said.err
    assert "Traceback" in said.err


def test_later_batches_run_too(command, calls):
    calls.fail = {1: InputError("no photos")}
    assert command("-m", "make", "seed=1,2", "hydra.sweeper.max_batch_size=1") == 2
    assert [c["seed"] for c in calls] == [1, 2]


def test_values_are_checked_job_by_job(command, calls, capfd):
    assert command("-m", "make", "train.steps=5,many,7") == 2
    assert [c["train"]["steps"] for c in calls] == [5, 7]
    assert "error: train.steps=many" in capfd.readouterr().err


def test_verbose_works_in_sweeps(command, calls):
    assert command("-m", "make", "seed=1,2", "hydra.verbose=true") == 0
    assert command("-m", "make", "seed=1,2", "hydra.verbose=[hydra]") == 0
    assert len(calls) == 4


def test_quoted_commas_and_lists(command, calls):
    assert command("-m", "make", "log.project='a,b'") == 0
    assert calls[-1]["log"]["project"] == "a,b"
    assert command("-m", "make", "export.formats=[ply],[spz,html]") == 0
    assert [c["export"]["formats"] for c in calls[1:]] == [["ply"], ["spz", "html"]]


def test_ctrl_c_ends_the_sweep_and_tells(command, calls, capfd):
    calls.fail = {2: KeyboardInterrupt("stopped after step 7")}
    assert command("-m", "make", "seed=1,2,3") == 130
    assert [c["seed"] for c in calls] == [1, 2]
    said = capfd.readouterr()
    assert "stopped" in said.out
    assert "stopped after step 7" in said.err


def test_the_table():
    jobs = (Job("0", "seed=1", 12.34, "/x"), Job("10", "seed=2", 1.0, "/y", InputError("a\nb")))
    assert summary(jobs).splitlines() == [
        "job  status  seconds  settings",
        "  0  ok         12.3  seed=1",
        " 10  FAILED      1.0  seed=2  (a b)",
    ]
