"""Guards as text: torch's wording of each kind, read from stand-ins for torch's tree."""

import re

import pytest
from pellucid.torch.guards import checks as guard_checks
from pellucid.torch.guards import translate as guards
from pellucid.torch.taps.guard_tree import read_tree
from pellucid.torch.text.full_code_names import names_of_guards


def leaf(kind, *parts, accepts=lambda value: True):
    """A stand-in for torch's leaf guard, which decides by ``accepts``."""
    methods = {
        "verbose_code_parts": lambda self: list(parts),
        "__call__": lambda self, value: accepts(value),
    }
    return type(kind, (), methods)()


class Manager:
    """A stand-in for torch's guard manager, with its children by how they are reached."""

    def __init__(self, source="L", leaves=(), children=(), type_=None, pairs=None):
        self.source, self.leaves, self.children, self.type = source, leaves, children, type_
        self.global_scope = None
        if pairs is not None:
            self.get_key_value_managers = lambda: pairs

    def get_source(self):
        return self.source

    def get_leaf_guards(self):
        return list(self.leaves)

    def get_type_of_guarded_value(self):
        return self.type

    def get_accessors(self):
        return [type("Accessor", (), {"repr": lambda _, t=text: t})() for text, _ in self.children]

    def get_child_managers(self):
        return [child for _, child in self.children]


def at_x(*leaves, type_=None):
    """A tree with one value, ``L['x']``."""
    x = Manager("L['x']", leaves, type_=type_)
    return Manager(children=[("FrameLocalsGuardAccessor(key='x', framelocals_idx=0)", x)])


def lines(root, names=None):
    return guards.translate(root, "0_0", names or {}).body


def without_addresses(value):
    return re.sub(r"\d{6,}", "ADDRESS", value) if isinstance(value, str) else None


@pytest.mark.parametrize(
    ("kind", "text", "accepts", "line"),
    [
        ("EQUALS_MATCH", "L['x'] == 3  # x  # a.py:3 in f", lambda v: v == 3, "EQUALS_MATCH(x, 3)"),
        ("EQUALS_MATCH", "L['x'] == '#=='", lambda v: v == "#==", "EQUALS_MATCH(x, '#==')"),
        (
            "EQUALS_MATCH",
            "L['x'] == 3 (HINT: an int)",
            lambda v: False,  # torch compares with something else that prints as 3
            "EQUALS_MATCH(x, kept_0_0[0], \"L['x'] == 3 (HINT: an int)\")",
        ),
        (
            "EQUALS_MATCH",
            "L['x'] == <Color.RED: 1>",
            bool,
            "EQUALS_MATCH(x, kept_0_0[0], \"L['x'] == <Color.RED: 1>\")",
        ),
        (
            "TYPE_MATCH",
            "___check_type_id(L['x'], 139), type=<class 'dict'>",
            bool,
            "TYPE_MATCH(x, 'dict')",
        ),
        (
            "TYPE_MATCH",
            "___check_type_id(L['x'], 139), type=<class 'a.B'>  # u (HINT: type B)",
            bool,
            "TYPE_MATCH(x, 'a.B', kept_0_0[0])",
        ),
        (
            "ID_MATCH",
            "___check_obj_id(L['x'], 140147109550320), type=<class 'module'>",
            bool,
            "ID_MATCH(x, 'module', kept_0_0[0])",
        ),
        ("ID_MATCH", f"___check_obj_id(L['x'], {id(True)})", bool, "ID_MATCH(x, 'True')"),
        ("LENGTH_CHECK", "len(L['x']) == 2", lambda v: len(v) == 2, "LENGTH_CHECK(x, 2)"),
        ("LENGTH_CHECK", "not L['x']", lambda v: not v, "LENGTH_CHECK(x, 0)"),
        (
            "TUPLE_ITERATOR_LEN",
            "___tuple_iterator_len(L['x']) == 2",
            lambda v: v.__length_hint__() == 2,
            "TUPLE_ITERATOR_LEN(x, 2)",
        ),
        (
            "RANGE_ITERATOR_MATCH",
            "___normalize_range_iter(L['x']) == (0, 6, 2)",
            lambda v: list(v) == [0, 2, 4],
            "RANGE_ITERATOR_MATCH(x, (0, 6, 2))",
        ),
        (
            "DICT_CONTAINS",
            "not ___dict_contains('a', L['x'])",
            lambda v: "a" not in v,
            "DICT_CONTAINS(x, 'a', False)",
        ),
        ("SET_CONTAINS", "1 in L['x']", lambda v: 1 in v, "SET_CONTAINS(x, 1, True)"),
        (
            "MAPPING_KEYS_MATCH",
            "list(L['x'].keys()) == ['a', 'b']",
            lambda v: list(v) == ["a", "b"],
            "MAPPING_KEYS_MATCH(x, ['a', 'b'])",
        ),
        (
            "NO_HASATTR",
            "hasattr(L['x'], 'forward') == False",
            bool,
            "NO_HASATTR(x, 'forward')",
        ),
        ("NONE_MATCH", "L['x'] is None", bool, "NONE_MATCH(x)"),
        ("NOT_NONE", "L['x'] is not None", bool, "NOT_NONE(x)"),
        ("LAMBDA_GUARD", "int(L['x']) == 3", bool, "LAMBDA_GUARD(int(x) == 3)"),
        (
            "LAMBDA_GUARD",
            "___check_metadata_140147109550320_c0/0",
            bool,
            "LEAF_GUARD('LAMBDA_GUARD', x, kept_0_0[0], '___check_metadata_…_c0/0')",
        ),
        (
            "A_KIND_OF_TOMORROW",
            "L['x'] glows",
            bool,
            "LEAF_GUARD('A_KIND_OF_TOMORROW', x, kept_0_0[0], \"L['x'] glows\")",
        ),
    ],
    # Texts hold addresses, which are others in each process that runs a part of the tests.
    ids=without_addresses,
)
def test_a_leaf_guard_is_a_call_by_its_kind(kind, text, accepts, line):
    body = lines(at_x(leaf(kind, text, accepts=accepts)))
    assert body[-1] == f"yield {line}"
    assert body[1:2] == ("x = L['x']",)


def test_tensor_guard():
    text = (
        "check_tensor(L['x'], Parameter, DispatchKeySet(CPU, AutogradCPU), torch.float32, "
        "device=None, requires_grad=True, size=[None, 4], stride=[4, 1])"
    )
    assert lines(at_x(leaf("TENSOR_MATCH", text)))[-1] == (
        "yield TENSOR_MATCH(x, 'Parameter', dtype='torch.float32', device=None, "
        "requires_grad=True, size=[None, 4], stride=[4, 1], keys='CPU, AutogradCPU')"
    )


def test_a_value_is_fetched_once_and_the_users_line_told_once():
    line = "  # y = x + 1  # a.py:3 in f"
    first = leaf("NOT_NONE", "L['x'] is not None" + line)
    second = leaf("NO_HASATTR", "hasattr(L['x'], 'a') == False" + line)
    assert lines(at_x(first, second))[1:] == (
        "x = L['x']",
        "# y = x + 1  # a.py:3 in f",
        "yield NOT_NONE(x)",
        "yield NO_HASATTR(x, 'a')",
    )


def test_what_two_values_share_is_asked_at_the_second():
    same = leaf("OBJECT_ALIASING", "L['x'] is L['y']")
    apart = leaf("NO_TENSOR_ALIASING", "check_no_aliasing(L['x'], L['y'])")
    values = [Manager(f"L['{name}']", [same, apart]) for name in "xy"]
    accessor = "FrameLocalsGuardAccessor(key={0!r}, framelocals_idx=0)"
    root = Manager(children=[(accessor.format(n), v) for n, v in zip("xy", values)])
    assert [text for text in lines(root) if text.startswith("yield ")][1:] == [
        "yield NO_TENSOR_ALIASING(x, tensors)",
        "yield OBJECT_ALIASING(y, x)",
        "yield NO_TENSOR_ALIASING(y, tensors)",
    ]


def test_overlapping_storage_is_asked_once_all_tensors_are_there():
    text = "check_overlapping(overlapping=[L['x'], L['y']], non_overlapping=[L['z']])"
    together, apart = leaf("STORAGE_OVERLAPPING", text), leaf("STORAGE_OVERLAPPING", text)
    values = [Manager(f"L['{n}']", [apart if n == "z" else together]) for n in "xyz"]
    accessor = "FrameLocalsGuardAccessor(key={0!r}, framelocals_idx=0)"
    root = Manager(children=[(accessor.format(n), v) for n, v in zip("xyz", values)])
    assert lines(root)[-1] == "yield STORAGE_OVERLAPPING([x, y], [z])"
    assert sum("STORAGE" in line for line in lines(root)) == 1


def test_no_address_gets_into_the_file_and_the_name_is_kept():
    name = "__optimizer_140147109550320_c0"
    root = Manager(
        children=[
            (
                "GlobalsGuardAccessor",
                Manager(
                    "G", children=[(f"DictGetItemGuardAccessor({name!r})", Manager(f"G[{name!r}]"))]
                ),
            )
        ]
    )
    made = guards.translate(root, "0_0", {})
    assert not any("140147109550320" in line for line in made.body)
    assert "G[kept_0_0.name(0, '__optimizer_" in made.body[-1]
    assert made.kept.name(0, "shown") == name
    del root
    assert made.kept.name(0, "shown") == "shown", "nothing is kept once torch lets go of the tree"


def test_no_address_gets_into_an_expression_of_torchs():
    name = "_140147109550320_c0"
    expression = f"G['torch'].Tensor is G[{name!r}].Tensor"
    root = at_x(leaf("LAMBDA_GUARD", expression))
    made = guards.translate(root, "0_0", {})
    assert made.body[-1] == (
        "yield LAMBDA_GUARD(G['torch'].Tensor is G[kept_0_0.name(0, '_c0')].Tensor)"
    )
    assert made.kept.name(0, "shown") == name
    assert names_of_guards(made.forms)[1] == {"torch", "_c0"}, "so that the file binds the name"


def test_a_leaf_of_many_values_is_asked_once_and_worded_once():
    asked = []
    text = "check_no_aliasing(L['x'], L['y'])"
    shared = leaf("NO_TENSOR_ALIASING", text)
    words = type(shared).verbose_code_parts
    type(shared).verbose_code_parts = lambda self: asked.append(1) or words(self)
    root = Manager(
        children=[
            (
                f"FrameLocalsGuardAccessor(key={n!r}, framelocals_idx=0)",
                Manager(f"L[{n!r}]", [shared]),
            )
            for n in ("x", "y")
        ]
    )
    made = guards.translate(root, "0_0", {})
    assert len(asked) == 1
    assert [guard.text for guard in made.guards] == [text, "check_no_aliasing(…, L['y'], …)"]


def test_lines_that_differ_in_names_and_numbers_have_one_form():
    root = Manager(
        children=[
            (
                f"FrameLocalsGuardAccessor(key={n!r}, framelocals_idx=0)",
                Manager(f"L[{n!r}]", [leaf("TYPE_MATCH", f"___check_type_id(L[{n!r}], {k})")]),
            )
            for k, n in enumerate(("x", "other"), 140147109550320)
        ]
    )
    made = guards.translate(root, "0_0", {})
    assert len([line for line in made.body if "TYPE_MATCH" in line]) == 2
    assert len([form for form in made.forms if "TYPE_MATCH" in form]) == 1
    assert names_of_guards(made.forms)[0] - {"L"} == {"TYPE_MATCH", "VALUES", "kept_0_0"}


def test_what_cannot_be_reached_is_said():
    root = Manager(children=[("NewGuardAccessor(7)", Manager("<something> of 7"))])
    assert lines(root)[-1].startswith("# not decided: <something> of 7 by NewGuardAccessor")


def test_an_unknown_accessor_goes_by_what_torch_says():
    child = Manager("___from_numpy(L['x'])")
    x = Manager("L['x']", children=[("PythonLambdaGuardAccessor", child)])
    root = Manager(children=[("FrameLocalsGuardAccessor(key='x', framelocals_idx=0)", x)])
    assert "___from_numpy(x)" in lines(root, {"___from_numpy": print})[-1]


def test_a_deep_tree_is_read_without_recursion():
    root = Manager("L['x']")
    for _ in range(5000):
        root = Manager("L['x']", children=[("GetAttrGuardAccessor(next)", root)])
    top, _ = read_tree(root)
    assert len(lines(root)) > 5000 and len(top.children) == 1


def test_iterators_are_looked_at_without_being_moved():
    numbers, items = iter(range(1, 9, 2)), iter((1, 2, 3))
    next(numbers), next(items)
    for _ in range(2):
        assert guard_checks.RANGE_ITERATOR_MATCH(numbers, (3, 9, 2))
        assert not guard_checks.RANGE_ITERATOR_MATCH(numbers, (1, 9, 2))
        assert guard_checks.TUPLE_ITERATOR_LEN(items, 2)
        assert guard_checks.tuple_iterator_item(items, 1) == 3
    assert [*numbers] == [3, 5, 7] and [*items] == [2, 3]
    assert guard_checks.TUPLE_ITERATOR_LEN(iter(()), 0)


def test_equal_values_of_other_types_do_not_match():
    assert not guard_checks.EQUALS_MATCH(True, 1)
    assert not guard_checks.EQUALS_MATCH(1.0, 1)
    assert guard_checks.EQUALS_MATCH((1, "a"), (1, "a"))


def test_autocast_dtypes_count_only_where_autocast_is_on():
    off = {"autocast_state": {"enabled": [False], "dtype": [15]}, "grad_mode": True}
    other = {"autocast_state": {"enabled": [False], "dtype": [5]}, "grad_mode": True}
    assert guard_checks._settings(off) == guard_checks._settings(other)
    on = {"autocast_state": {"enabled": [True], "dtype": [5]}, "grad_mode": True}
    assert guard_checks._settings(on) != guard_checks._settings(other)


def test_an_attribute_that_does_not_answer_is_none():
    class Broken:
        def __getattr__(self, name):
            raise TypeError(name)

    assert guard_checks.NO_HASATTR(Broken(), "a")
    assert not guard_checks.NO_HASATTR("", "join")


def test_an_objects_dictionary_is_read_without_its_classs_say():
    class Asks:
        def __getattribute__(self, name):
            raise AssertionError(name)

    assert guard_checks.instance_dict(Asks()) == {}
