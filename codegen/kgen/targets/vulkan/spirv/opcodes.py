"""SPIR-V instructions and the kinds of their operands.

Source: the SPIR-V specification 1.6, section 3.49 ("Instructions"), and its machine-readable
grammar. The table has all instructions of compute shaders except those on images. An operand kind
with `?` is optional; with `*` it repeats to the end of the instruction.
"""

from __future__ import annotations

INSTRUCTIONS: tuple[tuple[str, str], ...] = (
    ("", "OpNop=0 OpFunctionEnd=56 OpReturn=253 OpUnreachable=255 OpNoLine=317"),
    (
        "IdResultType IdResult",
        "OpUndef=1 OpConstantTrue=41 OpConstantFalse=42 OpConstantNull=46 "
        "OpSpecConstantTrue=48 OpSpecConstantFalse=49 OpFunctionParameter=55",
    ),
    (
        "LiteralString",
        "OpSourceContinued=2 OpSourceExtension=4 OpExtension=10 OpModuleProcessed=330",
    ),
    ("SourceLanguage LiteralInteger IdRef? LiteralString?", "OpSource=3"),
    ("IdRef LiteralString", "OpName=5"),
    ("IdRef LiteralInteger LiteralString", "OpMemberName=6"),
    ("IdResult LiteralString", "OpString=7 OpExtInstImport=11"),
    ("IdRef LiteralInteger LiteralInteger", "OpLine=8"),
    ("IdResultType IdResult IdRef LiteralExtInstInteger IdRef*", "OpExtInst=12"),
    ("AddressingModel MemoryModel", "OpMemoryModel=14"),
    ("ExecutionModel IdRef LiteralString IdRef*", "OpEntryPoint=15"),
    ("IdRef ExecutionMode", "OpExecutionMode=16 OpExecutionModeId=331"),
    ("Capability", "OpCapability=17"),
    ("IdResult", "OpTypeVoid=19 OpTypeBool=20 OpLabel=248"),
    ("IdResult LiteralInteger LiteralInteger", "OpTypeInt=21"),
    ("IdResult LiteralInteger FPEncoding?", "OpTypeFloat=22"),
    ("IdResult IdRef LiteralInteger", "OpTypeVector=23 OpTypeMatrix=24"),
    ("IdResult IdRef IdRef", "OpTypeArray=28"),
    ("IdResult IdRef", "OpTypeRuntimeArray=29"),
    ("IdResult IdRef*", "OpTypeStruct=30"),
    ("IdResult StorageClass IdRef", "OpTypePointer=32"),
    ("IdResult IdRef IdRef*", "OpTypeFunction=33"),
    ("IdResultType IdResult LiteralContextDependentNumber", "OpConstant=43 OpSpecConstant=50"),
    (
        "IdResultType IdResult IdRef*",
        "OpConstantComposite=44 OpSpecConstantComposite=51 OpCompositeConstruct=80",
    ),
    ("IdResultType IdResult LiteralSpecConstantOpInteger", "OpSpecConstantOp=52"),
    ("IdResultType IdResult FunctionControl IdRef", "OpFunction=54"),
    (
        "IdResultType IdResult IdRef IdRef*",
        "OpFunctionCall=57 OpAccessChain=65 OpInBoundsAccessChain=66",
    ),
    ("IdResultType IdResult StorageClass IdRef?", "OpVariable=59"),
    ("IdResultType IdResult IdRef MemoryAccess?", "OpLoad=61"),
    ("IdRef IdRef MemoryAccess?", "OpStore=62"),
    ("IdRef IdRef MemoryAccess? MemoryAccess?", "OpCopyMemory=63"),
    ("IdResultType IdResult IdRef IdRef IdRef*", "OpPtrAccessChain=67 OpInBoundsPtrAccessChain=70"),
    ("IdResultType IdResult IdRef LiteralInteger", "OpArrayLength=68"),
    ("IdRef Decoration", "OpDecorate=71 OpDecorateId=332"),
    ("IdRef LiteralInteger Decoration", "OpMemberDecorate=72"),
    (
        "IdResultType IdResult IdRef IdRef",
        "OpVectorExtractDynamic=77 OpIAdd=128 OpFAdd=129 OpISub=130 OpFSub=131 OpIMul=132 "
        "OpFMul=133 OpUDiv=134 OpSDiv=135 OpFDiv=136 OpUMod=137 OpSRem=138 OpSMod=139 "
        "OpFRem=140 OpFMod=141 OpVectorTimesScalar=142 OpMatrixTimesScalar=143 "
        "OpVectorTimesMatrix=144 OpMatrixTimesVector=145 OpMatrixTimesMatrix=146 "
        "OpOuterProduct=147 OpDot=148 OpIAddCarry=149 OpISubBorrow=150 OpUMulExtended=151 "
        "OpSMulExtended=152 OpOrdered=162 OpUnordered=163 OpLogicalEqual=164 "
        "OpLogicalNotEqual=165 OpLogicalOr=166 OpLogicalAnd=167 OpIEqual=170 OpINotEqual=171 "
        "OpUGreaterThan=172 OpSGreaterThan=173 OpUGreaterThanEqual=174 "
        "OpSGreaterThanEqual=175 OpULessThan=176 OpSLessThan=177 OpULessThanEqual=178 "
        "OpSLessThanEqual=179 OpFOrdEqual=180 OpFUnordEqual=181 OpFOrdNotEqual=182 "
        "OpFUnordNotEqual=183 OpFOrdLessThan=184 OpFUnordLessThan=185 OpFOrdGreaterThan=186 "
        "OpFUnordGreaterThan=187 OpFOrdLessThanEqual=188 OpFUnordLessThanEqual=189 "
        "OpFOrdGreaterThanEqual=190 OpFUnordGreaterThanEqual=191 OpShiftRightLogical=194 "
        "OpShiftRightArithmetic=195 OpShiftLeftLogical=196 OpBitwiseOr=197 OpBitwiseXor=198 "
        "OpBitwiseAnd=199 OpPtrEqual=401 OpPtrNotEqual=402",
    ),
    (
        "IdResultType IdResult IdRef IdRef IdRef",
        "OpVectorInsertDynamic=78 OpSelect=169 OpBitFieldSExtract=202 OpBitFieldUExtract=203",
    ),
    (
        "IdResultType IdResult IdRef IdRef LiteralInteger*",
        "OpVectorShuffle=79 OpCompositeInsert=82",
    ),
    ("IdResultType IdResult IdRef LiteralInteger*", "OpCompositeExtract=81"),
    (
        "IdResultType IdResult IdRef",
        "OpCopyObject=83 OpTranspose=84 OpConvertFToU=109 OpConvertFToS=110 OpConvertSToF=111 "
        "OpConvertUToF=112 OpUConvert=113 OpSConvert=114 OpFConvert=115 OpQuantizeToF16=116 "
        "OpConvertPtrToU=117 OpConvertUToPtr=120 OpBitcast=124 OpSNegate=126 OpFNegate=127 "
        "OpAny=154 OpAll=155 OpIsNan=156 OpIsInf=157 OpLogicalNot=168 OpNot=200 "
        "OpBitReverse=204 OpBitCount=205 OpCopyLogical=400",
    ),
    ("IdResultType IdResult IdRef IdRef IdRef IdRef", "OpBitFieldInsert=201"),
    ("IdScope IdScope IdMemorySemantics", "OpControlBarrier=224"),
    ("IdScope IdMemorySemantics", "OpMemoryBarrier=225"),
    (
        "IdResultType IdResult IdRef IdScope IdMemorySemantics",
        "OpAtomicLoad=227 OpAtomicIIncrement=232 OpAtomicIDecrement=233",
    ),
    ("IdRef IdScope IdMemorySemantics IdRef", "OpAtomicStore=228"),
    (
        "IdResultType IdResult IdRef IdScope IdMemorySemantics IdRef",
        "OpAtomicExchange=229 OpAtomicIAdd=234 OpAtomicISub=235 OpAtomicSMin=236 "
        "OpAtomicUMin=237 OpAtomicSMax=238 OpAtomicUMax=239 OpAtomicAnd=240 OpAtomicOr=241 "
        "OpAtomicXor=242",
    ),
    (
        "IdResultType IdResult IdRef IdScope IdMemorySemantics IdMemorySemantics IdRef IdRef",
        "OpAtomicCompareExchange=230 OpAtomicCompareExchangeWeak=231",
    ),
    ("IdResultType IdResult PairIdRefIdRef*", "OpPhi=245"),
    ("IdRef IdRef LoopControl", "OpLoopMerge=246"),
    ("IdRef SelectionControl", "OpSelectionMerge=247"),
    ("IdRef", "OpBranch=249 OpReturnValue=254"),
    ("IdRef IdRef IdRef LiteralInteger*", "OpBranchConditional=250"),
    ("IdRef IdRef PairLiteralIntegerIdRef*", "OpSwitch=251"),
    ("IdResultType IdResult IdRef", "OpCooperativeMatrixLengthKHR=4460"),
    ("IdResultType IdResult IdScope", "OpGroupNonUniformElect=333"),
    (
        "IdResultType IdResult IdScope IdRef",
        "OpGroupNonUniformAll=334 OpGroupNonUniformAny=335 OpGroupNonUniformAllEqual=336 "
        "OpGroupNonUniformBroadcastFirst=338 OpGroupNonUniformBallot=339 "
        "OpGroupNonUniformInverseBallot=340 OpGroupNonUniformBallotFindLSB=343 "
        "OpGroupNonUniformBallotFindMSB=344",
    ),
    (
        "IdResultType IdResult IdScope IdRef IdRef",
        "OpGroupNonUniformBroadcast=337 OpGroupNonUniformBallotBitExtract=341 "
        "OpGroupNonUniformShuffle=345 OpGroupNonUniformShuffleXor=346 "
        "OpGroupNonUniformShuffleUp=347 OpGroupNonUniformShuffleDown=348",
    ),
    ("IdResultType IdResult IdScope GroupOperation IdRef", "OpGroupNonUniformBallotBitCount=342"),
    (
        "IdResultType IdResult IdScope GroupOperation IdRef IdRef?",
        "OpGroupNonUniformIAdd=349 OpGroupNonUniformFAdd=350 OpGroupNonUniformIMul=351 "
        "OpGroupNonUniformFMul=352 OpGroupNonUniformSMin=353 OpGroupNonUniformUMin=354 "
        "OpGroupNonUniformFMin=355 OpGroupNonUniformSMax=356 OpGroupNonUniformUMax=357 "
        "OpGroupNonUniformFMax=358 OpGroupNonUniformBitwiseAnd=359 "
        "OpGroupNonUniformBitwiseOr=360 OpGroupNonUniformBitwiseXor=361 "
        "OpGroupNonUniformLogicalAnd=362 OpGroupNonUniformLogicalOr=363 "
        "OpGroupNonUniformLogicalXor=364",
    ),
    (
        "IdResultType IdResult IdRef IdRef PackedVectorFormat?",
        "OpSDot=4450 OpUDot=4451 OpSUDot=4452",
    ),
    (
        "IdResultType IdResult IdRef IdRef IdRef PackedVectorFormat?",
        "OpSDotAccSat=4453 OpUDotAccSat=4454 OpSUDotAccSat=4455",
    ),
    ("IdResult IdRef IdScope IdRef IdRef IdRef", "OpTypeCooperativeMatrixKHR=4456"),
    ("IdResultType IdResult IdRef IdRef IdRef? MemoryAccess?", "OpCooperativeMatrixLoadKHR=4457"),
    ("IdRef IdRef IdRef IdRef? MemoryAccess?", "OpCooperativeMatrixStoreKHR=4458"),
    (
        "IdResultType IdResult IdRef IdRef IdRef CooperativeMatrixOperands?",
        "OpCooperativeMatrixMulAddKHR=4459",
    ),
)
