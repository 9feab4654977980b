"""`make check`: which quick tests belong to what changed."""

import check
import pytest
from needs import ROOT


def test_everything_that_the_table_names_is_there() -> None:
    named = {test for tests in check.AREAS.values() for test in tests} - {check.UNIT}
    assert [path for path in [*check.AREAS, *named] if not (ROOT / path).exists()] == []


def test_all_code_has_quick_tests() -> None:
    folders = [path for top in ("src", "python/pellucid") for path in (ROOT / top).iterdir()]
    names = [path.relative_to(ROOT).as_posix() for path in folders if path.is_dir()]
    assert [name for name in names if not check.tests_of(name)] == []


def test_the_nearest_row_says_what_is_run() -> None:
    assert check.tests_of("src/polish/end_if.cpp") == [check.UNIT, check.CASES]
    assert check.tests_of("src/web/exports.cpp") == [check.UNIT]
    assert check.tests_of("python/pellucid/findings/words.py")[0] == check.FINDINGS
    assert check.tests_of("tests/python/test_api.py") == ["tests/python/test_api.py"]
    assert check.tests_of("tests/python/test_that_was_removed.py") == []
    assert check.tests_of("LICENSE") == []


def test_each_test_is_run_once_and_says_why() -> None:
    chosen = check.choose(["src/ir/lift.cpp", "src/ir/lift.h", "tests/unit/ir/steps.cpp"])
    assert list(chosen) == [check.UNIT, check.CASES]
    assert chosen[check.CASES] == ["src/ir/lift.cpp", "src/ir/lift.h"]


def test_areas_are_named_by_their_folders() -> None:
    assert check.path_of("flow") == "src/flow"
    assert check.path_of("structure/plan") == "src/structure/plan"
    assert check.path_of("findings") == "python/pellucid/findings"
    assert check.path_of("guards") == "python/pellucid/torch/guards"
    assert check.path_of("store") == "python/pellucid/dump/store"
    assert check.path_of("tests/cases") == "tests/cases"
    with pytest.raises(SystemExit, match="check: 'flwo' is not a path"):
        check.path_of("flwo")
