"""SPIR-V operands that are written as names, and the extended instructions of GLSL.std.450.

Sources: the SPIR-V specification 1.6, sections 3.2 to 3.48, and the GLSL.std.450 specification,
section 2.
"""

from __future__ import annotations

#: Kinds whose values are combined with `|`.
MASKS = frozenset(
    (
        "CooperativeMatrixOperands",
        "FPFastMathMode",
        "FunctionControl",
        "LoopControl",
        "MemoryAccess",
        "SelectionControl",
    )
)

#: Enumerants of each kind, as ``Name=value(kinds of the operands that follow)``.
ENUMERANTS: dict[str, str] = {
    "Capability": (
        "Matrix=0 Shader=1 Float16=9 Float64=10 Int64=11 Int64Atomics=12 Int16=22 Int8=39 "
        "GroupNonUniform=61 GroupNonUniformVote=62 GroupNonUniformArithmetic=63 "
        "GroupNonUniformBallot=64 GroupNonUniformShuffle=65 GroupNonUniformShuffleRelative=66 "
        "GroupNonUniformClustered=67 StorageBuffer16BitAccess=4433 "
        "UniformAndStorageBuffer16BitAccess=4434 StoragePushConstant16=4435 "
        "VariablePointersStorageBuffer=4441 VariablePointers=4442 StorageBuffer8BitAccess=4448 "
        "UniformAndStorageBuffer8BitAccess=4449 DenormPreserve=4464 DenormFlushToZero=4465 "
        "SignedZeroInfNanPreserve=4466 RoundingModeRTE=4467 RoundingModeRTZ=4468 "
        "VulkanMemoryModel=5345 VulkanMemoryModelDeviceScope=5346 "
        "PhysicalStorageBufferAddresses=5347 DotProductInputAll=6016 DotProductInput4x8Bit=6017 "
        "DotProductInput4x8BitPacked=6018 DotProduct=6019 "
        "BFloat16TypeKHR=5116 BFloat16DotProductKHR=5117 BFloat16CooperativeMatrixKHR=5118 "
        "CooperativeMatrixKHR=6022"
    ),
    "SourceLanguage": (
        "Unknown=0 ESSL=1 GLSL=2 OpenCL_C=3 OpenCL_CPP=4 HLSL=5 CPP_for_OpenCL=6 SYCL=7"
    ),
    "ExecutionModel": "Vertex=0 Fragment=4 GLCompute=5 Kernel=6",
    "AddressingModel": "Logical=0 Physical32=1 Physical64=2 PhysicalStorageBuffer64=5348",
    "MemoryModel": "Simple=0 GLSL450=1 OpenCL=2 Vulkan=3",
    "ExecutionMode": (
        "LocalSize=17(LiteralInteger,LiteralInteger,LiteralInteger) "
        "LocalSizeHint=18(LiteralInteger,LiteralInteger,LiteralInteger) ContractionOff=31 "
        "SubgroupSize=35(LiteralInteger) SubgroupsPerWorkgroup=36(LiteralInteger) "
        "LocalSizeId=38(IdRef,IdRef,IdRef) DenormPreserve=4459(LiteralInteger) "
        "DenormFlushToZero=4460(LiteralInteger) SignedZeroInfNanPreserve=4461(LiteralInteger) "
        "RoundingModeRTE=4462(LiteralInteger) RoundingModeRTZ=4463(LiteralInteger)"
    ),
    "StorageClass": (
        "UniformConstant=0 Input=1 Uniform=2 Output=3 Workgroup=4 CrossWorkgroup=5 Private=6 "
        "Function=7 Generic=8 PushConstant=9 AtomicCounter=10 StorageBuffer=12 "
        "PhysicalStorageBuffer=5349"
    ),
    "FPEncoding": "BFloat16KHR=0",
    "FPRoundingMode": "RTE=0 RTZ=1 RTP=2 RTN=3",
    "FPFastMathMode": "None=0 NotNaN=1 NotInf=2 NSZ=4 AllowRecip=8 Fast=16",
    "SelectionControl": "None=0 Flatten=1 DontFlatten=2",
    "FunctionControl": "None=0 Inline=1 DontInline=2 Pure=4 Const=8",
    "LoopControl": (
        "None=0 Unroll=1 DontUnroll=2 DependencyInfinite=4 DependencyLength=8(LiteralInteger) "
        "MinIterations=16(LiteralInteger) MaxIterations=32(LiteralInteger) "
        "IterationMultiple=64(LiteralInteger) PeelCount=128(LiteralInteger) "
        "PartialCount=256(LiteralInteger)"
    ),
    "MemoryAccess": (
        "None=0 Volatile=1 Aligned=2(LiteralInteger) Nontemporal=4 "
        "MakePointerAvailable=8(IdScope) MakePointerVisible=16(IdScope) NonPrivatePointer=32"
    ),
    "CooperativeMatrixOperands": (
        "NoneKHR=0 MatrixASignedComponentsKHR=1 MatrixBSignedComponentsKHR=2 "
        "MatrixCSignedComponentsKHR=4 MatrixResultSignedComponentsKHR=8 "
        "SaturatingAccumulationKHR=16"
    ),
    "LinkageType": "Export=0 Import=1 LinkOnceODR=2",
    "GroupOperation": "Reduce=0 InclusiveScan=1 ExclusiveScan=2 ClusteredReduce=3",
    "PackedVectorFormat": "PackedVectorFormat4x8Bit=0",
    "Decoration": (
        "RelaxedPrecision=0 SpecId=1(LiteralInteger) Block=2 BufferBlock=3 RowMajor=4 "
        "ColMajor=5 ArrayStride=6(LiteralInteger) MatrixStride=7(LiteralInteger) "
        "BuiltIn=11(BuiltIn) Invariant=18 Restrict=19 Aliased=20 Volatile=21 Constant=22 "
        "Coherent=23 NonWritable=24 NonReadable=25 Uniform=26 UniformId=27(IdScope) "
        "SaturatedConversion=28 Binding=33(LiteralInteger) DescriptorSet=34(LiteralInteger) "
        "Offset=35(LiteralInteger) FPRoundingMode=39(FPRoundingMode) "
        "FPFastMathMode=40(FPFastMathMode) LinkageAttributes=41(LiteralString,LinkageType) "
        "NoContraction=42 Alignment=44(LiteralInteger) NoSignedWrap=4469 NoUnsignedWrap=4470 "
        "NonUniform=5300 RestrictPointer=5355 AliasedPointer=5356"
    ),
    "BuiltIn": (
        "NumWorkgroups=24 WorkgroupSize=25 WorkgroupId=26 LocalInvocationId=27 "
        "GlobalInvocationId=28 LocalInvocationIndex=29 SubgroupSize=36 NumSubgroups=38 "
        "SubgroupId=40 SubgroupLocalInvocationId=41 SubgroupEqMask=4416 SubgroupGeMask=4417 "
        "SubgroupGtMask=4418 SubgroupLeMask=4419 SubgroupLtMask=4420"
    ),
}

#: Instructions of GLSL.std.450, whose operands are ids.
GLSL_STD_450 = (
    "Round=1 RoundEven=2 Trunc=3 FAbs=4 SAbs=5 FSign=6 SSign=7 Floor=8 Ceil=9 Fract=10 "
    "Radians=11 Degrees=12 Sin=13 Cos=14 Tan=15 Asin=16 Acos=17 Atan=18 Sinh=19 Cosh=20 Tanh=21 "
    "Asinh=22 Acosh=23 Atanh=24 Atan2=25 Pow=26 Exp=27 Log=28 Exp2=29 Log2=30 Sqrt=31 "
    "InverseSqrt=32 Modf=35 ModfStruct=36 FMin=37 UMin=38 SMin=39 FMax=40 UMax=41 SMax=42 "
    "FClamp=43 UClamp=44 SClamp=45 FMix=46 IMix=47 Step=48 SmoothStep=49 Fma=50 Frexp=51 "
    "FrexpStruct=52 Ldexp=53 PackSnorm4x8=54 PackUnorm4x8=55 PackSnorm2x16=56 PackUnorm2x16=57 "
    "PackHalf2x16=58 PackDouble2x32=59 UnpackSnorm2x16=60 UnpackUnorm2x16=61 UnpackHalf2x16=62 "
    "UnpackSnorm4x8=63 UnpackUnorm4x8=64 UnpackDouble2x32=65 Length=66 Distance=67 Cross=68 "
    "Normalize=69 FaceForward=70 Reflect=71 Refract=72 FindILsb=73 FindSMsb=74 FindUMsb=75 "
    "NMin=79 NMax=80 NClamp=81"
)
