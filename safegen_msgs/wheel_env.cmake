# Copyright 2026 The safegen_ros maintainers
# SPDX-License-Identifier: Apache-2.0
#
# Makes a build against the ROS 2 wheels of a Python environment work. Named only by pyproject.toml
# and by `-DCMAKE_PROJECT_INCLUDE=`: a build in a sourced ROS 2 workspace never reads this file.

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# The wheels hold a whole ROS prefix, but nothing tells CMake where it is. Ask the interpreter.
execute_process(
  COMMAND "${Python3_EXECUTABLE}" -c
    "import pathlib, ament_package; print(pathlib.Path(ament_package.__file__).parents[4].as_posix())"
  OUTPUT_VARIABLE _wheel_prefix
  OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY
)
set(ENV{AMENT_PREFIX_PATH} "${_wheel_prefix}")
list(PREPEND CMAKE_PREFIX_PATH "${_wheel_prefix}")

# The exported targets name include folders of the machine that built the wheels. They do not exist
# here, and CMake refuses to generate with them.
function(_wheel_drop_foreign_includes)
  get_property(_targets DIRECTORY "${CMAKE_SOURCE_DIR}" PROPERTY IMPORTED_TARGETS)
  foreach(_target IN LISTS _targets)
    get_target_property(_includes "${_target}" INTERFACE_INCLUDE_DIRECTORIES)
    if(_includes)
      list(FILTER _includes EXCLUDE REGEX "^/opt/python/")
      set_property(TARGET "${_target}" PROPERTY INTERFACE_INCLUDE_DIRECTORIES "${_includes}")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _wheel_drop_foreign_includes)

# The generated type support is many small C++ files that read the same large headers. Joined, each
# library is one file, and the build takes half the time. The other libraries cannot be joined: the
# names in their files are not unique.
function(_wheel_join_sources)
  get_property(_targets DIRECTORY "${CMAKE_SOURCE_DIR}" PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER _targets INCLUDE REGEX "^${PROJECT_NAME}__rosidl_typesupport_(fastrtps_)?(c|cpp)$")
  set_target_properties(${_targets} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
endfunction()
cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _wheel_join_sources)
