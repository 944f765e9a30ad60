"""ONNX importer: fixed shapes, inferred types and folded constants, in one pass over the nodes.

A node whose inputs are all constant is computed by onnx's reference evaluator. For any other node
the types of the outputs are inferred, given the constants among its inputs. What is computed from
shapes alone thus becomes a constant, and no shape stays open.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from kgen.errors import GraphError
from kgen.graph.reading.branches import (
    MOST_NESTED,
    NEEDED,
    branch_of,
    check_alike,
    choices,
    taken_branch,
)
from kgen.graph.reading.contributed_attention import contributed_body, is_contributed
from kgen.graph.reading.counted import COUNTED, Counted, decides, is_counted
from kgen.graph.reading.dequantized import stored
from kgen.graph.reading.domains import DOMAINS, PREVIEW, opsets_of
from kgen.graph.reading.element_types import DTYPES, KEEPS_RANGE, STORED, WIDENED, unsupported
from kgen.graph.reading.empty import empty_results, without_empty, without_results
from kgen.graph.reading.folding import NotFolded, bytes_of_results, check_foldable, computed
from kgen.graph.reading.function_bodies import (
    FunctionBody,
    NodeRefused,
    body_by_schema,
    body_of,
    has_body,
)
from kgen.graph.reading.inference import dims_of, inferred
from kgen.graph.reading.loops import (
    LOOPS,
    Joined,
    StepSlices,
    Unrollable,
    check_unrolled,
    length_of,
    scan_of,
    steps_of,
    trip_count,
)
from kgen.graph.reading.messages import MOST_LISTED, listed, shortened
from kgen.graph.reading.model import Array, Dequantized, Model, Node, Shape, TensorType
from kgen.graph.reading.order import shown_name, taken_by
from kgen.graph.reading.sequences import SEQUENCES, Sequences, Unlisted, tensors_of
from kgen.graph.reading.written_out import replaced
from kgen_runtime.schema.program import Count

#: Limit of folded constants at one time, in bytes. BROUGHT times the bytes of the model's own
#: constants are added, because weights are transposed and cast. The limit itself is for shapes,
#: masks and position tables.
MOST_FOLDED = 256 << 20
BROUGHT = 3
#: Lowest opset of the nodes that replace an operator with a data-dependent output size.
COUNTED_OPSET = 18
#: Most letters in a string attribute.
MOST_TEXT = 1 << 12
#: Errors from reading a node whose inputs or attributes do not fit its operator.
MISFITS = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)


def imported(
    proto: onnx.ModelProto,
    shapes: Mapping[str, Shape],
    supported: Collection[str],
    by_body: Collection[str] = (),
    capacities: Mapping[str, int] = MappingProxyType({}),
) -> Model:
    """Import a model for inputs of these shapes.

    A node whose operator is not in `supported`, or whose first result is in `by_body`, is replaced
    by the function body that ONNX defines for it. `capacities` are the largest sizes of outputs
    whose size depends on data. Raises GraphError; for unsupported operators it counts the nodes of
    each.
    """
    walk = _Walk(proto, shapes, supported, by_body, capacities)
    for i, node in enumerate(proto.graph.node):
        name = shown_name(node, i)
        try:
            walk.visit(node, name)
        except RecursionError:
            raise GraphError(
                f"node {name} ({node.op_type}) nests more deeply than the compiler can follow; "
                "split it into several nodes"
            ) from None
        except MISFITS as error:
            # No exporter writes such nodes: required results are missing, or attributes have the
            # wrong type.
            raise GraphError(
                f"node {name} ({node.op_type}) does not fit its operator: {shortened(error)}; "
                "export the model again"
            ) from None
    return walk.model()


def check_distinct(what: str, names: Sequence[str]) -> None:
    """Raise GraphError if a name occurs twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise GraphError(
                f"{name} is {count} times among the model's {what}; names must differ, so export "
                "the model again"
            )


def check_names(names: Iterable[str]) -> None:
    """Raise GraphError for names with characters that cannot be printed."""
    for name in names:
        # Names that are not UTF-8 are bytes.
        if not isinstance(name, str) or not name.isprintable():
            raise GraphError(
                f"the name {name!a} has characters that cannot be printed; export the model "
                "with others"
            )


class _Walk:
    """Pass over a model's nodes: what is known of each value so far."""

    def __init__(
        self,
        proto: onnx.ModelProto,
        shapes: Mapping[str, Shape],
        supported: Collection[str],
        by_body: Collection[str],
        capacities: Mapping[str, int],
    ) -> None:
        self.proto, self.supported, self.by_body = proto, supported, by_body
        self.capacities = capacities
        #: Sizes of outputs that depend on data.
        self.counts: list[Count] = []
        self.functions = {(f.domain, f.name, f.overload): f for f in proto.functions}
        #: Bytes that folding may still use, and the bytes of each folded constant.
        self.left = MOST_FOLDED
        self.charged: dict[str, int] = {}
        #: Number of nodes and outputs that use each value.
        self.uses = Counter(name for node in proto.graph.node for name in taken_by(node))
        self.uses.update(o.name for o in proto.graph.output)
        #: Names of all nodes' results.
        self.results = {name for node in proto.graph.node for name in node.output}
        self.opsets = opsets_of(proto)
        self.constants: dict[str, Array] = {}
        self.dequantized: dict[str, Dequantized] = {}
        self.types: dict[str, onnx.TypeProto] = {}
        self.open: set[str] = set()
        #: Tensors of each sequence and of each optional value.
        self.lists: dict[str, tuple[str, ...]] = {}
        #: All values that nodes may read.
        self.known: tuple[Container[str], ...] = (self.types, self.open, self.lists)
        self.nodes: list[Node] = []
        #: Unsupported operators, each with the name of a node.
        self.unsupported: list[tuple[str, str]] = []
        #: Number of nodes from all unrolled loops.
        self.unrolled = 0
        check_distinct("constants", [t.name for t in proto.graph.initializer])
        check_distinct("inputs", [i.name for i in proto.graph.input])
        check_distinct("outputs", [o.name for o in proto.graph.output])
        for initializer in proto.graph.initializer:
            self.constants[initializer.name] = array = array_of(initializer)
            self.left += BROUGHT * array.nbytes
            self.types[initializer.name] = helper.make_tensor_type_proto(
                initializer.data_type, list(initializer.dims)
            )
        if proto.graph.sparse_initializer:
            raise GraphError("the model has sparse tensors; export it with dense ones")
        self.inputs = [i for i in proto.graph.input if i.name not in self.constants]
        self._fix(shapes)

    def _fix(self, shapes: Mapping[str, Shape]) -> None:
        """Fix the shape of every input. Raises GraphError for a shape that stays open."""
        names = [i.name for i in self.inputs]
        check_names((self.proto.graph.name, *names, *self.constants))
        sizes = self._dimensions({n: s for n, s in shapes.items() if n not in names})
        left = []
        for given in self.inputs:
            if not given.type.HasField("tensor_type"):
                what = (given.type.WhichOneof("value") or "value").removesuffix("_type")
                raise GraphError(
                    f"input {given.name} is of type {what.replace('_', ' ')}, and kgen supports "
                    "tensors only; make each tensor in it an input of its own"
                )
            if (kind := given.type.tensor_type.elem_type) not in (*DTYPES, *STORED):
                raise GraphError(f"input {given.name} {unsupported(kind)}")
            dims = [
                # Some exporters write -1 for an open dimension.
                dim.dim_value
                if dim.HasField("dim_value") and dim.dim_value >= 0
                else sizes.get(dim.dim_param, dim.dim_param or "?")
                for dim in given.type.tensor_type.shape.dim
            ]
            wanted = shapes.get(given.name)
            if wanted is None and any(isinstance(n, str) for n in dims):
                left.append(f"{given.name}={'x'.join(map(str, dims))}")
                continue
            wanted = tuple(int(n) for n in dims) if wanted is None else wanted
            fixed = [n for n in dims if not isinstance(n, str)]
            fits = len(wanted) == len(dims) and all(
                # Some exporters write 0 for an open dimension.
                isinstance(n, str) or n in (0, m)
                for n, m in zip(dims, wanted, strict=True)
            )
            if not fits and (given.type.tensor_type.HasField("shape") or fixed):
                raise GraphError(
                    f"--shape {given.name}={'x'.join(map(str, wanted))} does not fit the model's "
                    f"{'x'.join(map(str, dims)) or 'single number'}; give as many sizes, and keep "
                    "those that the model fixes"
                )
            kind = given.type.tensor_type.elem_type
            self.types[given.name] = helper.make_tensor_type_proto(kind, list(wanted))
            # An input without elements is a known constant.
            self.constants |= empty_results({given.name: self.types[given.name]})
        if left:
            options = " ".join(f"--shape {word}" for word in left)
            names = sorted(self._named() - sizes.keys())
            named = f", or {' '.join(f'--shape {name}=8' for name in names)}" if names else ""
            raise GraphError(
                f"the model leaves shapes open: {', '.join(left)}; give {options} with numbers"
                f"{named}"
            )

    def _named(self) -> set[str]:
        """Return the names of the inputs' symbolic dimensions."""
        shapes = (given.type.tensor_type.shape for given in self.inputs)
        return {dim.dim_param for shape in shapes for dim in shape.dim if dim.dim_param}

    def _dimensions(self, sizes: Mapping[str, Shape]) -> dict[str, int]:
        """Return the sizes of named dimensions.

        Raises GraphError for a name that the model lacks.
        """
        named = sorted(self._named())
        for name, shape in sizes.items():
            if name not in named:
                inputs = ", ".join(given.name for given in self.inputs)
                also = f" and the dimensions {', '.join(named)}" if named else ""
                raise GraphError(
                    f"--shape {name}={'x'.join(map(str, shape))}: the model has no such input or "
                    f"dimension; it has the "
                    f"inputs {inputs}{also}"
                )
            if len(shape) != 1:
                raise GraphError(
                    f"--shape {name}={'x'.join(map(str, shape))}: {name} is a dimension; give one "
                    f"size, such as {name}=8"
                )
        return {name: shape[0] for name, shape in sizes.items()}

    def visit(self, node: onnx.NodeProto, name: str, depth: int = 0) -> None:
        check_names((name, node.op_type, *node.output))
        if any(len(attribute.s) > MOST_TEXT for attribute in node.attribute):
            raise GraphError(
                f"node {name} ({node.op_type}) has a text of more than {MOST_TEXT} characters; "
                "export the model without it"
            )
        for value in node.input:
            if value and not any(value in known for known in self.known):
                raise GraphError(
                    f"node {name} ({node.op_type}) reads {value}, which no input, constant or "
                    "earlier node computes; export the model again"
                )
        for value in node.output:
            if value and any(value in known for known in self.known):
                raise GraphError(
                    f"node {name} ({node.op_type}) makes {value}, a name that another value "
                    "has; rename one of the values in the model"
                )
        known = all(not v or v in self.constants for v in node.input)
        is_onnx = node.domain in DOMAINS
        if is_onnx and node.op_type == "If":
            self._branches(node, depth)
            return
        if is_onnx and node.op_type in LOOPS:
            try:
                self._loop(node, name, depth)
            except Unrollable as why:
                self._refuse(node, name, str(why))
            return
        if is_onnx and (node.op_type in SEQUENCES or self.lists.keys() & {*node.input}):
            try:
                if self._listed(node, name, depth):
                    return
            except Unlisted as why:
                self._refuse(node, name, str(why))
                return
        if is_onnx and node.op_type in ("Shape", "Size") and node.input[0] in self.types:
            self._keep(node.output[0], self._shape_of(node))
            return
        if is_onnx and node.op_type == "CastLike" and node.input[1] in self.types:
            # The type of the second input is known, even if its elements are not.
            kind = self.types[node.input[1]].tensor_type.elem_type
            cast = helper.make_node("Cast", node.input[:1], node.output, name=node.name, to=kind)
            cast.attribute.extend(node.attribute)
            node = cast
            known = node.input[0] in self.constants
        typed = self._infer(node, name) if is_onnx else {}
        unfolded = ""
        if known and is_onnx:
            try:
                self._fold(node, name, typed)
            except NotFolded as why:
                unfolded = f"it supports constants only, but {why}"
            else:
                if depth == 0:
                    self._release(node.input)
                return
        if is_onnx and typed and (empty := empty_results(typed)):
            for value, array in empty.items():
                self._keep(value, array)
            if len(empty) == len([v for v in node.output if v]):
                return
        if is_onnx and (others := replaced(node, self.types, typed, self.constants)) is not None:
            self._inlined([], others, depth)
            return
        if (
            is_onnx
            and is_counted(node, self.constants)
            and self.types.keys() >= {*filter(None, node.input)}
        ):
            self._count(node, name, depth)
            return
        opset = self.opsets.get("", 1)
        if is_onnx and (fewer := without_empty(node, self.types, typed, opset)) is not None:
            node, constants = fewer
            for value, array in constants.items():
                self._keep(value, array)
        operator = node.op_type if is_onnx else f"{node.domain}.{node.op_type}"
        if operator not in self.supported or node.output[0] in self.by_body:
            body = self._body(node, name)
            if body is not None:
                self._replaced(node, name, operator, body, depth)
                return
        if operator not in self.supported and not self._waits(node, is_onnx):
            self.unsupported.append((operator, f"{name} ({unfolded})" if unfolded else name))
        for value in filter(None, node.output):
            if value in typed:
                self.types[value] = typed[value]
            else:
                self.open.add(value)
        if not self.unsupported:
            self._check_types(name, operator, node, unfolded)
        attributes = {a.name: attribute_of(a) for a in node.attribute}
        # Kernels hold numbers in a wider type if they have none of a node's own.
        if node.op_type == "QuantizeLinear" and node.output[0] in typed:
            attributes["output_dtype"] = typed[node.output[0]].tensor_type.elem_type
        if node.op_type == "Cast" and (kind := self.kind_of(node.input[0])) in WIDENED:
            attributes["input_dtype"] = kind
        self.nodes.append(
            Node(
                name=name,
                operator=operator,
                inputs=tuple(node.input),
                outputs=tuple(node.output),
                attributes=attributes,
                opset=self.opsets.get("", 1),
                unfolded=unfolded,
            )
        )

    def kind_of(self, value: str) -> int:
        """Return the element type of a value; 0 if it is not known."""
        return self.types[value].tensor_type.elem_type if value in self.types else 0

    def _refuse(self, node: onnx.NodeProto, name: str, why: str) -> None:
        self.unsupported.append((node.op_type, f"{name} ({why})"))
        self.open.update(v for v in node.output if v and v not in self.types)

    def _listed(self, node: onnx.NodeProto, name: str, depth: int) -> bool:
        """Replace a node of sequences or optional values; return whether it is one."""
        if self.open.intersection(node.input) and node.op_type != "Identity":
            self.open.update(filter(None, node.output))
            return True
        opset = self.opsets.get("", 1)
        found = tensors_of(Sequences(
            node=node, name=name, lists=self.lists, types=self.types, constants=self.constants,
            opset=opset,
        ))  # fmt: skip
        if found is None:
            return False
        self._inlined([], found.nodes, depth)
        self.lists.update(found.lists)
        return True

    def _waits(self, node: onnx.NodeProto, is_onnx: bool) -> bool:
        """Whether an unsupported node would be replaced if its inputs' types were known."""
        if not self.unsupported or self.open.isdisjoint(node.input):
            return False
        if not is_onnx:
            return is_contributed(node)
        return node.op_type in COUNTED or has_body(node.op_type, self.opsets.get("", 1))

    def _branches(self, node: onnx.NodeProto, depth: int) -> None:
        """Inline the selected branch of an If, or both branches and a Where."""
        if depth > MOST_NESTED:
            raise GraphError(f"graphs are nested more than {MOST_NESTED} deep; export without them")
        (condition,) = node.input
        shape = dims_of(self.types[condition]) if condition in self.types else (0,)
        if math.prod(shape) != 1:
            raise GraphError(
                f"node {node.name} (If) has a condition of {math.prod(shape)} elements; it must "
                "have 1; change it in the model"
            )
        if condition in self.constants:
            taken = bool(self.constants[condition].reshape(-1)[0])
            self._inlined(*taken_branch(node, taken), depth)
            return
        results = []
        for branch in (True, False):
            tensors, nodes, made = branch_of(node, branch)
            try:
                self._inlined(tensors, nodes, depth)
            except GraphError as error:
                why = str(error) if NEEDED in str(error) else f"{error}; {node.name} (If) {NEEDED}"
                raise GraphError(why) from None
            results.append(made)
        ones, others = results
        for one, another, result in zip(ones, others, node.output, strict=True):
            kinds = [self.types[name] for name in (one, another) if name in self.types]
            if result and len(kinds) == 2:
                check_alike(node, result, *kinds)
        self._inlined(*choices(node, shape, ones, others), depth)

    def _loop(self, node: onnx.NodeProto, name: str, depth: int) -> None:
        """Unroll a Loop or Scan. Raises Unrollable unless the number of steps is constant."""
        if depth > MOST_NESTED:
            raise GraphError(f"graphs are nested more than {MOST_NESTED} deep; export without them")
        if any(value in self.open for value in node.input):
            raise Unrollable("the shapes of its inputs are not known")
        steps = self._loop_steps if node.op_type == "Loop" else self._scan_steps
        states, joined = steps(node, name, depth)
        for made, result in zip(states, node.output, strict=False):
            if result:
                self._inlined([], [helper.make_node("Identity", [made], [result])], depth)
        for one, result in zip(joined, node.output[len(states) :], strict=True):
            if result and one.values:
                nodes = one.nodes(dims_of(self.types[one.values[0]]), result)
                self._inlined([], nodes, depth)
            elif result:
                self._keep(result, one.without_steps(result))

    def _loop_steps(
        self, node: onnx.NodeProto, name: str, depth: int
    ) -> tuple[list[str], list[Joined]]:
        """Return the final states of a Loop, and the per-step results to concatenate."""
        for value, what in zip(node.input[:2], ("trip count", "condition"), strict=False):
            if value and value not in self.constants:
                raise Unrollable(f"its {what} depends on data")
        count, condition, *states = [*node.input, "", ""][: max(2, len(node.input))]
        num_joined = len(node.output) - len(states)
        body = steps_of(node, name, 2 + len(states), 1 + len(states) + num_joined)
        most = trip_count(self.constants.get(count), name)
        goes_on = not condition or bool(self.constants[condition].all())
        joined = body.joined([StepSlices(axis=0, is_reversed=False)] * num_joined)
        self._inlined(body.tensors, body.constants, depth)
        step = 0
        while goes_on and step < most:
            own = f"{body.prefix}/{step}/step", f"{body.prefix}/{step}/condition"
            self._keep(own[0], np.asarray(step, np.int64))
            self._keep(own[1], np.asarray(True))
            nodes, (condition, *results) = body.step(step, (*own, *states))
            self._step(node, name, nodes, depth)
            if condition not in self.constants:
                raise Unrollable("the condition that ends it depends on data")
            goes_on = bool(self.constants[condition].all())
            states = results[: len(states)]
            for one, value in zip(joined, results[len(states) :], strict=True):
                one.values.append(value)
            step += 1
        return states, joined

    def _scan_steps(
        self, node: onnx.NodeProto, name: str, depth: int
    ) -> tuple[list[str], list[Joined]]:
        """Return the final states of a Scan, and the per-step results to concatenate."""
        scan = scan_of(node, name, self.opsets.get("", 1))
        states, sequences = node.input[: scan.num_states], node.input[scan.num_states :]
        body = steps_of(node, name, len(node.input), len(node.output))
        length = length_of(name, scan, [dims_of(self.types[value]) for value in sequences])
        joined = body.joined(scan.outputs)
        self._inlined(body.tensors, body.constants, depth)
        for step in range(length):
            taken = [f"{body.prefix}/{step}/element{n}" for n in range(len(sequences))]
            cut: list[onnx.NodeProto] = []
            for slices, value, result in zip(scan.inputs, sequences, taken, strict=True):
                cut += slices.taken(value, step, length, result)
            nodes, results = body.step(step, (*states, *taken))
            self._step(node, name, [*cut, *nodes], depth)
            states = results[: len(states)]
            for one, value in zip(joined, results[len(states) :], strict=True):
                one.values.append(value)
        return list(states), joined

    def _step(
        self, node: onnx.NodeProto, name: str, nodes: Sequence[onnx.NodeProto], depth: int
    ) -> None:
        """Visit the nodes of one step of a loop. Raises GraphError past the limit for all loops."""
        self.unrolled += 1 + len(nodes)
        check_unrolled(name, node.op_type, self.unrolled)
        start = len(self.unsupported)
        self._inlined([], nodes, depth)
        if within := self.unsupported[start:]:
            del self.unsupported[start:]
            inner = ", ".join(dict.fromkeys(one for one, _ in within))
            raise Unrollable(f"its body needs {inner}")

    def _count(self, node: onnx.NodeProto, name: str, depth: int) -> None:
        """Replace a node with a data-dependent output size by nodes of fixed shapes.

        Raises GraphError unless its outputs are outputs of the model that no node uses.
        """
        given = [self.capacities[value] for value in node.output if value in self.capacities]
        most = min(given, default=None)
        made = Counted(node, self.types, self.constants, most, self.results)
        COUNTED[node.op_type](made)
        outputs = {o.name for o in self.proto.graph.output}
        remedy = "or choose by Where from a fixed shape"
        if decides(node) in node.input[1:]:
            remedy = f"or make {decides(node)} an initializer"
        for count in made.counts:
            if count.output not in outputs or self.uses[count.output] > 1:
                raise GraphError(
                    f"node {name} ({node.op_type}): the shape of {count.output} depends on the "
                    f"values of {decides(node)}, which kgen supports in outputs of the model that "
                    f"no node reads; make {count.output} such an output and compute what follows "
                    f"outside of the model, {remedy}"
                )
        self.counts += made.counts
        with self._of({"": max(COUNTED_OPSET, self.opsets.get("", 1))}):
            self._inlined([], made.nodes, depth)

    def _inlined(
        self, tensors: Sequence[onnx.TensorProto], nodes: Sequence[onnx.NodeProto], depth: int
    ) -> None:
        for tensor in tensors:
            self._keep(tensor.name, array_of(tensor))
        for number, inner in enumerate(nodes):
            self.visit(inner, shown_name(inner, number), depth + 1)

    def _body(self, node: onnx.NodeProto, name: str) -> FunctionBody | None:
        """Return the function body of a node, from the model or from ONNX, or None.

        The result is also None if the body depends on input types that are not known.
        """
        node = without_results(node, self.types)
        function = self.functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            return body_of(function, node, name, {})
        if self.open.intersection(node.input):
            return None
        if node.domain not in (*DOMAINS, PREVIEW):
            return contributed_body(node, name, self.types, self.constants)
        return body_by_schema(node, name, self.types, self.opsets)

    def _replaced(
        self, node: onnx.NodeProto, name: str, operator: str, body: FunctionBody, depth: int
    ) -> None:
        """Visit the nodes of a function body in place of a node.

        Unsupported operators inside are reported as the node's. Raises NodeRefused for a body that
        does not fit.
        """
        if depth > MOST_NESTED:
            raise GraphError(
                f"node {name} ({operator}): functions are nested more than {MOST_NESTED} deep, the "
                "limit; export the model without them"
            )
        start = len(self.unsupported)
        try:
            with self._of(body.opsets):
                self._inlined([], body.nodes, depth)
        except GraphError as error:
            raise NodeRefused(str(error), node.output[0]) from None
        within = self.unsupported[start:]
        if not within or node.domain not in DOMAINS:
            return
        inner = ", ".join(dict.fromkeys(one for one, _ in within))
        if operator in self.supported:
            raise NodeRefused(
                f"the body of {name} ({operator}) needs {inner}; replace it", node.output[0]
            )
        self.unsupported[start:] = [(operator, f"{name} (its body needs {inner})")]

    @contextmanager
    def _of(self, opsets: Mapping[str, int]) -> Iterator[None]:
        """Interpret the nodes that are visited in the block by these opsets."""
        before, self.opsets = self.opsets, {**self.opsets, **opsets}
        try:
            yield
        finally:
            self.opsets = before

    def _shape_of(self, node: onnx.NodeProto) -> Array:
        shape = dims_of(self.types[node.input[0]])
        if node.op_type == "Size":
            return np.asarray(math.prod(shape), np.int64)
        bounds = {a.name: a.i for a in node.attribute}
        return np.asarray(shape[bounds.get("start", 0) : bounds.get("end")], np.int64)

    def _infer(self, node: onnx.NodeProto, name: str) -> dict[str, onnx.TypeProto]:
        """Return the types of a node's outputs, without those that cannot be inferred."""
        if any(value in self.open for value in node.input):
            return {}
        given = [value for value in node.input if value]
        return inferred(
            node,
            name,
            {value: self.types[value] for value in given},
            {value: self.constants[value] for value in given if value in self.constants},
            self.opsets.get("", 1),
        )

    def _fold(self, node: onnx.NodeProto, name: str, typed: Mapping[str, onnx.TypeProto]) -> None:
        """Compute a node of constants.

        Raises NotFolded if that is impossible, and GraphError for a constant that is too large.
        """
        given = {v: self.constants[v] for v in node.input if v}
        arrays = list(given.values())
        check_foldable(node, arrays, typed)
        if (numbers := stored(node, arrays, self.dequantized)) is not None:
            self.dequantized[node.output[0]] = numbers
        if node.op_type == "Identity":
            # Exporters repeat one matrix under several names: share its memory.
            self._keep(node.output[0], arrays[0])
            return
        nbytes = bytes_of_results(node, arrays, typed)
        if node.op_type == "Constant":
            # The file contains these bytes.
            self.left += (1 + BROUGHT) * nbytes
        if nbytes > self.left:
            shapes = ", ".join("x".join(map(str, dims_of(kind))) or "1" for kind in typed.values())
            raise GraphError(
                f"node {name} ({node.op_type}) makes a constant of shape {shapes}, of "
                f"{nbytes} bytes; {self.left} bytes are left of the {MOST_FOLDED >> 20} MiB that "
                "constant folding may add; use smaller shapes"
            )
        found = computed(node, given, self.types, self.opsets)
        for value, array in found.items():
            self._keep(value, array)
            self.charged[value] = array.nbytes
            self.left -= array.nbytes

    def _release(self, values: Iterable[str]) -> None:
        """Free folded constants after their last use has been folded."""
        for value in dict.fromkeys(values):
            self.uses[value] -= 1
            if not self.uses[value] and value in self.charged:
                self.left += self.charged.pop(value)
                del self.constants[value]

    def _keep(self, name: str, array: Array) -> None:
        self.constants[name] = np.ascontiguousarray(array).reshape(array.shape)
        self.types[name] = helper.make_tensor_type_proto(
            helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape)
        )

    def _why_open(self, node: onnx.NodeProto, value: str) -> str:
        """Return why the shape of a node's result is not known, and the remedy."""
        data = [v for v in dict.fromkeys(node.input[1:]) if v and v not in self.constants]
        if not data:
            return (
                f"ONNX does not say the shape of {value} by the node's inputs and attributes; give "
                "the attributes that it depends on, or replace the node"
            )
        return (
            f"the shape of {value} depends on the values of {_some(data)}; make what decides the "
            f"shape an initializer ({_some(data)}: constant), or fold the model with fixed shapes"
        )

    def _check_types(self, name: str, operator: str, node: onnx.NodeProto, unfolded: str) -> None:
        for value in filter(None, node.output):
            if value in self.open and unfolded:
                raise GraphError(
                    f"node {name} ({operator}): the shape of {value} is not known: {unfolded}; "
                    "make the result of the node an initializer"
                )
            if value in self.open:
                raise GraphError(
                    f"node {name} ({operator}): kgen needs fixed shapes, and "
                    f"{self._why_open(node, value)}"
                )
            dtype = self.types[value].tensor_type.elem_type
            if dtype not in DTYPES and not (dtype in WIDENED and operator in KEEPS_RANGE):
                raise GraphError(
                    f"node {name} ({operator}) makes {value}, which {unsupported(dtype)}"
                )

    def _check_capacities(self) -> None:
        """Raise GraphError for a capacity of an output of fixed size, or of an unknown output."""
        known = [count.output for count in self.counts]
        for name, size in self.capacities.items():
            if name not in known:
                remedy = "leave the option out"
                if known:
                    remedy = f"name one of {_some(known)}, or {remedy}"
                raise GraphError(
                    f"--capacity {name}={size}: {name} is not an output whose size depends on "
                    f"data; {remedy}"
                )

    def model(self) -> Model:
        if self.unsupported:
            raise GraphError(_unsupported(self.unsupported))
        self._check_capacities()
        outputs = [o.name for o in self.proto.graph.output] + [count.size for count in self.counts]
        for name in outputs:
            if name in self.lists:
                raise GraphError(
                    f"output {name} is a sequence or an optional value, and kgen supports tensors "
                    "only; make each tensor in it an output of its own"
                )
            if name not in self.types:
                raise GraphError(
                    f"output {name} is not computed by any node; export the model again"
                )
        wanted, kept = set(outputs), []
        for node in reversed(self.nodes):
            if wanted.intersection(node.outputs):
                wanted.update(filter(None, node.inputs))
                kept.append(node)
        tensors, stored_as = {}, {}
        constants = {n: a for n, a in self.constants.items() if n in wanted}
        for name in (*wanted, *(i.name for i in self.inputs)):
            kind = self.types[name].tensor_type.elem_type
            dtype = WIDENED.get(kind) or DTYPES.get(kind)
            if kind in STORED:
                shape = dims_of(self.types[name])
                stored_as[name] = TensorType(dtype=STORED[kind], shape=shape)
            if dtype is None or (kind in WIDENED and kind not in STORED and name in outputs):
                what = "output" if name in outputs else "constant"
                raise GraphError(f"{what} {name} {unsupported(kind)}")
            if kind in WIDENED and name in constants:
                constants[name] = constants[name].astype(dtype.storage)
            tensors[name] = TensorType(dtype=dtype, shape=dims_of(self.types[name]))
        return Model(
            name=self.proto.graph.name or "main",
            inputs=tuple(i.name for i in self.inputs),
            outputs=tuple(outputs),
            tensors=tensors,
            constants=constants,
            nodes=tuple(reversed(kept)),
            counts=tuple(self.counts),
            dequantized={n: d for n, d in self.dequantized.items() if n in wanted},
            stored=stored_as,
        )


#: Domain of operators on blocks of channels.
BLOCKED = "com.microsoft.nchwc"
#: Most names of nodes in a message about one operator.
MOST_NAMES = 5


def _unsupported(found: Sequence[tuple[str, str]]) -> str:
    """Return the message about unsupported operators.

    It lists the operators with their numbers of nodes, the most frequent first, and names of nodes
    as far as there is room.
    """
    names: dict[str, list[str]] = {}
    for operator, name in found:
        names.setdefault(operator, []).append(name)
    order = sorted(names, key=lambda operator: (-len(names[operator]), operator))
    words = [f"{operator} ({len(names[operator])})" for operator in order]
    for number, operator in enumerate(order):
        several = len(names[operator]) > 1
        named = f"{words[number] if several else operator}: {_some(names[operator])}"
        if len("; ".join([*words, named])) - len(words[number]) <= MOST_LISTED:
            words[number] = named
    subject = "1 node has an operator" if len(found) == 1 else f"{len(found)} nodes have operators"
    remedy = (
        "kgen targets --operators lists those that are supported; replace the others, or cut the "
        "model before them"
    )
    if any(operator.startswith(f"{BLOCKED}.") for operator in order):
        remedy = (
            f"{BLOCKED} is a layout that ONNX Runtime chose for one CPU; compile the original "
            "model, or save it with graph_optimization_level=ORT_ENABLE_EXTENDED"
        )
    return f"{subject} that kgen does not support: {listed(words, 'operators')}; {remedy}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def array_of(tensor: onnx.TensorProto) -> Array:
    """Return a constant's elements. Raises GraphError if they do not fill its shape."""
    try:
        return np.asarray(numpy_helper.to_array(tensor))
    except Exception as error:
        raise GraphError(
            f"constant {tensor.name} cannot be read: {error}; export the model again"
        ) from None


def attribute_of(attribute: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if attribute.type == onnx.AttributeProto.TENSOR:
        return array_of(value)
    if attribute.type == onnx.AttributeProto.STRINGS:
        return tuple(word.decode(errors="replace") for word in value)
    return tuple(value) if attribute.type in _LISTS else value


_LISTS = (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS)
