"""Compiler for ONNX models: file -> graph -> fused formulas -> kernel calls -> bundle.

:func:`compile_model` is the public entry point. The other functions are its stages.
"""

from __future__ import annotations

import dataclasses
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

import onnx

from kgen import building, bundle, pipeline
from kgen.cache import kernel_cache
from kgen.errors import GraphError, KgenError, SpecError, TargetError
from kgen.graph.assemble import Assembly, matrix_of
from kgen.graph.fusing.formulas import Fused
from kgen.graph.fusing.fuse import fuse
from kgen.graph.fusing.outputs import with_further_outputs
from kgen.graph.ir import PLAIN_CONVOLUTIONS, ConvolutionKernels, Graph, ProductNode
from kgen.graph.joined import joined_in_place
from kgen.graph.lowering.calls import Lowered, nodes_shown
from kgen.graph.lowering.lower import lower
from kgen.graph.lowering.shared_kernels import with_shared_kernels
from kgen.graph.lowering.transformed_weights import with_transformed_weights
from kgen.graph.memory import ALIGNMENT, MemoryPlan
from kgen.graph.operators import MOST_ELEMENTS, OPERATORS, NodesRefused, graph_of
from kgen.graph.reading.function_bodies import NodeRefused
from kgen.graph.reading.importer import MISFITS, imported
from kgen.graph.reading.model import Array, Model, Shape
from kgen.graph.reading.onnx_file import Source, read, shown
from kgen.graph.rewrites.gates import gated
from kgen.graph.rewrites.integer_products import integer_products
from kgen.graph.rewrites.narrow import WEIGHTS, convolutions_of, narrowed, weights_of
from kgen.graph.rewrites.normalizations import folded
from kgen.graph.rewrites.rounded import TYPES, product_nodes, rounded
from kgen.graph.rewrites.siblings import merged
from kgen.graph.rewrites.tied_weights import tied
from kgen.graph.rewrites.written_rows import written_rows
from kgen.graph.states import states_of, with_states
from kgen.graph.tables import with_tables
from kgen.spec import Conv2d, Spec
from kgen.spec.choices import BType, BTypeName, ConstantOperand
from kgen.spec.enum_fields import member
from kgen.spec.keys import unique_keys
from kgen.targets import family
from kgen.targets.base import Plan, Target
from kgen.targets.choose import GivenTuning, own_tuning
from kgen.targets.tuning.file import Tuning
from kgen_runtime.dtypes import DType, DTypeLike
from kgen_runtime.values import frozen

#: Name of a model's program.
NAME = "main"
#: Arithmetic of convolutions, by name.
ConvName = Literal["exact", "winograd"]
CONVS: tuple[str, ...] = get_args(ConvName)


@frozen
class CompiledModel:
    """Bundle of a compiled model, with its kernel calls and memory plans by target name."""

    bundle: bundle.Bundle
    lowered: Mapping[str, Lowered]
    memory: Mapping[str, MemoryPlan]

    def __repr__(self) -> str:
        programs = self.bundle.manifest.programs
        return f"<CompiledModel: {', '.join(program.qualified_name for program in programs)}>"

    def save(self, path: str | os.PathLike[str], *, external_weights: bool = False) -> Path:
        """Write the bundle as :meth:`Bundle.save` does."""
        return self.bundle.save(path, external_weights=external_weights)

    def to_bytes(self) -> bytes:
        """Return the bundle's bytes as :meth:`Bundle.to_bytes` does."""
        return self.bundle.to_bytes()


def load(
    source: Source,
    shapes: Mapping[str, Shape],
    weights: BType | None = None,
    products: DType | None = None,
    states: Mapping[str, str] | None = None,
    *,
    convolves: ConvolutionKernels = PLAIN_CONVOLUTIONS,
    alignment: int = ALIGNMENT,
    capacities: Mapping[str, int] = MappingProxyType({}),
) -> Fused:
    """Read an ONNX model and return its fused graph.

    `weights` is the type to which constant operands of products are quantised, and `products` the
    type to which both operands are rounded. Every tensor of a kernel starts at a multiple of
    `alignment` bytes. Raises GraphError.
    """
    with no_misfits(source):
        model, graph = graph_by_bodies(
            read(source), shapes, convolves=convolves, capacities=capacities
        )
        graph = integer_products(graph, pads_with_zero_point=convolves.pads_with_zero_point)
        graph = merged(written_rows(graph, states_of(graph, states or {})))
        if weights is not None:
            graph = narrowed(graph, weights, weights_of(model), convolutions_of(model))
        if products is not None:
            graph = rounded(graph, products, product_nodes(model))
        return fuse(dataclasses.replace(gated(tied(graph)), alignment=alignment))


def graph_by_bodies(
    proto: onnx.ModelProto,
    shapes: Mapping[str, Shape],
    *,
    convolves: ConvolutionKernels = PLAIN_CONVOLUTIONS,
    capacities: Mapping[str, int] = MappingProxyType({}),
) -> tuple[Model, Graph]:
    """Build a model's graph; operators without a lowering are replaced by their function bodies.

    Raises GraphError. If a node's body is refused too, the error is that of the node itself.
    """
    reasons: dict[str, GraphError] = {}
    while True:
        try:
            model = folded(imported(proto, shapes, OPERATORS, reasons, capacities))
            check_names(model)
            return model, graph_of(model, convolves=convolves)
        except NodesRefused as error:
            new = {name: why for name, why in error.refusals.items() if name not in reasons}
            if not new:
                raise
            reasons |= new
        except NodeRefused as error:
            # Values inside a function body are named after the node's output.
            outer = (why for name, why in reasons.items() if within(error.output, name))
            raise next(outer, error) from None


def within(value: str, result: str) -> bool:
    """Whether a value belongs to the function body of the node that computes `result`."""
    return value == result or value.startswith(f"{result}/")


def check_names(model: Model) -> None:
    """Raise GraphError if an input is also an output: names in a program are unique."""
    for name in model.outputs:
        if name in model.inputs:
            raise GraphError(
                f"{name} is an input and an output of the model; make the output by an "
                "Identity node, with another name"
            )


@contextmanager
def no_misfits(source: Source) -> Iterator[None]:
    """Raise GraphError for a model whose nodes are valid alone but contradict one another."""
    try:
        yield
    except RecursionError:
        raise GraphError(
            f"model={shown(source)}: a formula of its nodes nests more calls than the compiler can "
            "follow; split nodes of many inputs into several, or cut the model into parts"
        ) from None
    except MISFITS as error:
        raise GraphError(
            f"model={shown(source)}: its nodes do not fit one another ({type(error).__name__}: "
            f"{error}); export the model again"
        ) from error


def lowered_for(
    fused: Fused, target: Target, states: Mapping[str, str] = MappingProxyType({})
) -> Lowered:
    """Return the kernel calls of a graph for one target.

    An output that is a state keeps a kernel of its own, which writes it in place. Raises GraphError
    for what the target has no kernel for.
    """
    own = family(target.family)
    predict = cache(partial(own.predicted_seconds, target))
    attends = None if own.is_calibrated else cache(partial(own.attends, target))
    try:
        lowered = lower(fused, own.alignment, predict, attends)
        found = with_shared_kernels(lowered, own.most_tensors)
    except SpecError as error:
        raise GraphError(f"target={target.name}: {error}") from None
    found = with_further_outputs(found, {found.outputs[name] for name in states.values()})
    return joined_in_place(with_tables(found, states), own.alignment)


def compile_model(
    model: Source,
    targets: str | Target | Iterable[str | Target],
    *,
    shapes: Mapping[str, Shape | int] | None = None,
    states: Mapping[str, str] | None = None,
    capacities: Mapping[str, int] | None = None,
    weights: BTypeName | None = None,
    products: DTypeLike | None = None,
    conv: ConvName = "exact",
    tuning: GivenTuning | None = None,
    progress: Callable[[str], None] = lambda _: None,
    executor: Executor | None = None,
    cache: bool = True,
) -> CompiledModel:
    """Compile an ONNX model for `targets`, which are names or Target values.

    `model` is the path of an ONNX file, its bytes, or an onnx.ModelProto.

    - `shapes` fixes inputs with open dimensions, `{"x": (8, 16)}`, or named dimensions, `{"batch":
      8}`.
    - `states` maps inputs to the outputs that replace them in the next run; both stay in the
      program.
    - `capacities` limits outputs whose size depends on data, in elements: `{"selected": 300}`.
      Without it, an output has room for the largest size that the model allows.
    - `weights` rounds constant weights to bf16, to s8 with a scale per column, or to s4 with a
      scale per block of 32.
    - `products` (bf16 or f16) rounds both operands of each product; sums stay f32.
    - `conv="winograd"` computes 3x3 convolutions of f32 on CPUs with Winograd's algorithm where the
      cost model predicts less time.
    - `tuning`, `executor` and `cache` are those of :func:`kgen.build`.

    Raises GraphError for a model that cannot be read or compiled, and TargetError or ScheduleError,
    naming the node, if a target cannot compute it.
    """
    if not isinstance(model, str | os.PathLike | bytes | onnx.ModelProto):
        raise GraphError(
            f"model is of type {type(model).__name__}; give the path of an ONNX file, its bytes or "
            "an onnx.ModelProto"
        )
    wanted = None if weights is None else member(BType, weights, "weights")
    if wanted not in (None, *WEIGHTS):
        raise GraphError(f"weights={wanted} is not supported; take one of {', '.join(WEIGHTS)}")
    multiplied = None if products is None else member(DType, products, "products")
    if multiplied not in (None, *TYPES):
        raise GraphError(f"products={multiplied} is not supported; take one of {', '.join(TYPES)}")
    if wanted is not None and multiplied is not None:
        raise GraphError(
            f"weights={wanted} and products={multiplied} exclude each other; leave weights "
            "out, which products rounds too"
        )
    if conv not in CONVS:
        raise GraphError(f"conv={conv} is not supported; take {' or '.join(CONVS)}")
    found = building.targets_of(targets)
    if wanted is not None:
        _check_weights(wanted, found)
    own = own_tuning(tuning, found)
    progress(f"reading {shown(model)}")
    fused = graphs_for(
        found,
        partial(
            load,
            model,
            _shapes_of(shapes or {}),
            wanted,
            multiplied,
            states,
            alignment=max(family(target.family).alignment for target in found),
            capacities=_capacities_of(capacities or {}),
        ),
    )
    kept = states_of(fused[found[0].name].graph, states or {})
    with no_misfits(model):
        lowered = {t.name: lowered_for(fused[t.name], t, kept) for t in found}
    if conv != "exact":
        lowered = {t.name: with_transformed_weights(lowered[t.name], t, own) for t in found}
    # Plan everything before assembling anything, so that errors appear at once.
    plans = {}
    for target in found:
        first = planned(lowered[target.name], target, own)
        lowered[target.name] = with_states(lowered[target.name], kept, first)
        plans[target.name] = planned(lowered[target.name], target, own) if kept else first
    distinct = {
        (target.name, plan.operation): plan
        for target in found
        for plan in plans[target.name].values()
    }
    kernels = building.kernels(
        tuple(distinct.values()),
        cache=kernel_cache.opened() if cache else None,
        executor=executor,
        progress=progress,
        remark=lambda plan: nodes_of(plan, lowered[plan.target.name], plans[plan.target.name]),
    )
    keys = unique_keys(plan.operation for plan in distinct.values())
    programs = []
    files: dict[str, Array] = {}
    memory: dict[str, MemoryPlan] = {}
    for target in found:
        progress(f"packing weights for {target.name}")
        name, graph = target.name, fused[target.name].graph
        made = Assembly(NAME, name, graph, lowered[name], plans[name], keys).assembled()
        programs.append(made.program)
        files.update(made.weights)
        memory[target.name] = made.memory
    packed = bundle.pack(kernels, programs=programs, weights=files)
    return CompiledModel(bundle=packed, lowered=lowered, memory=memory)


def graphs_for(targets: Iterable[Target], load: Callable[..., Fused]) -> dict[str, Fused]:
    """Return the fused graph of each target, by target name.

    A target without kernels for some convolutions needs a graph that decomposes them. It shares the
    graph of the other targets if the model has no such convolution.
    """
    kernels = {target.name: kernels_of(target) for target in targets}
    found: dict[ConvolutionKernels, Fused] = {}
    for each in sorted(set(kernels.values()), key=dataclasses.astuple, reverse=True):
        shared = (fused for fused in found.values() if all(map(each.include, convolutions(fused))))
        found[each] = next(shared, None) or load(convolves=each)
    return {name: found[each] for name, each in kernels.items()}


def kernels_of(target: Target) -> ConvolutionKernels:
    own = family(target.family)
    return ConvolutionKernels(
        depthwise=own.convolves_channels, pads_with_zero_point=own.pads_with_zero_point
    )


def convolutions(fused: Fused) -> Iterator[Conv2d]:
    for value in fused.graph.values.values():
        if isinstance(value.operation, ProductNode) and value.operation.conv is not None:
            yield value.operation.conv


def _check_weights(wanted: BType, found: Iterable[Target]) -> None:
    """Raise TargetError if a target has no products with this type of weights."""
    for target in found:
        known = family(target.family).narrow(target)
        if wanted not in known:
            raise TargetError(
                f"weights={wanted} is not supported on {target.name}; take {', '.join(known)}"
            )


def _capacities_of(given: Mapping[str, int]) -> dict[str, int]:
    """Check and return the largest sizes of outputs, in elements. Raises GraphError."""
    for name, size in given.items():
        if type(size) is not int or not 1 <= size <= MOST_ELEMENTS:
            raise GraphError(
                f"capacities: {name} has room for {size} elements; it must be 1 to "
                f"{MOST_ELEMENTS}; give another number"
            )
    return dict(given)


def _shapes_of(given: Mapping[str, Shape | int]) -> dict[str, Shape]:
    """Return shapes of inputs and sizes of named dimensions as tuples. Raises GraphError."""
    try:
        found = {
            name: tuple(map(operator.index, shape if isinstance(shape, Iterable) else (shape,)))
            for name, shape in given.items()
        }
    except (AttributeError, TypeError):
        raise GraphError(
            f"shapes={given!r} is not a mapping of names to sizes; give {{'x': (8, 16)}}"
        ) from None
    for name, shape in found.items():
        if wrong := [n for n in shape if not 0 <= n <= MOST_ELEMENTS]:
            raise GraphError(
                f"shapes: {name} has a size of {wrong[0]}; it must be 0 to {MOST_ELEMENTS}; "
                "give another size"
            )
    return found


def planned(lowered: Lowered, target: Target, tuning: Tuning | None = None) -> dict[int, Plan]:
    """Return the plan of each call by its number. Calls of one spec share a plan."""
    known: dict[Spec, Plan] = {}
    found = {}
    specs = [pipeline.for_target(call.spec, target, {}) for call in lowered.calls]
    weights: dict[Spec, dict[str, Array]] = {}
    for spec, call in zip(specs, lowered.calls, strict=True):
        if ConstantOperand.B in spec.constants:
            name = call.bindings[ConstantOperand.B].buffer
            matrix = matrix_of(lowered.constants[name], spec.parameter(ConstantOperand.B))
            weights.setdefault(spec, {})[name] = matrix
    for number, (spec, call) in enumerate(zip(specs, lowered.calls, strict=True)):
        if spec not in known:
            try:
                matrices = tuple(weights.get(spec, {}).values())
                known[spec] = pipeline.plan(spec, target, tuning=tuning, weights=matrices)
            except KgenError as error:
                raise type(error)(
                    f"target={target.name}: {error}{nodes_shown(call.nodes)}"
                ) from None
        found[number] = known[spec]
    return found


def nodes_of(plan: Plan, lowered: Lowered, plans: Mapping[int, Plan]) -> str:
    """Return the names of the nodes that a kernel computes, for an error message."""
    numbers = (n for n, found in plans.items() if found is plan)
    return nodes_shown([node for number in numbers for node in lowered.calls[number].nodes])
