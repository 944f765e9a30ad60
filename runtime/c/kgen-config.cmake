# find_package(kgen): the target kgen::kgen, static where the static library is installed.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(NOT TARGET kgen::kgen)
  get_filename_component(_kgen_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  foreach(_kgen_name libkgen.a libkgen.so libkgen.dylib libkgen.dll.a)
    if(NOT TARGET kgen::kgen AND EXISTS "${_kgen_prefix}/lib/${_kgen_name}")
      add_library(kgen::kgen UNKNOWN IMPORTED)
      set_target_properties(kgen::kgen PROPERTIES
        IMPORTED_LOCATION "${_kgen_prefix}/lib/${_kgen_name}"
        INTERFACE_INCLUDE_DIRECTORIES "${_kgen_prefix}/include"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
      if(_kgen_name STREQUAL "libkgen.dll.a")
        set_target_properties(kgen::kgen PROPERTIES INTERFACE_COMPILE_DEFINITIONS KGEN_DLL)
      endif()
    endif()
  endforeach()
endif()
if(NOT TARGET kgen::kgen)
  set(kgen_FOUND FALSE)
  set(kgen_NOT_FOUND_MESSAGE "${CMAKE_CURRENT_LIST_DIR} has no libkgen; install it again")
endif()
