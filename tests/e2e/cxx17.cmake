# Below C++20, the first compiler error of each public header is that Octet needs
# C++20.
foreach(module runtime layers quant session train io)
  file(GLOB_RECURSE headers RELATIVE ${SOURCE}/${module}/include
       ${SOURCE}/${module}/include/*.h)
  list(APPEND all ${headers})
  list(APPEND includes -I${SOURCE}/${module}/include)
endforeach()
list(FILTER all EXCLUDE REGEX "^octet/c/")  # C headers
list(LENGTH all count)
if(count LESS 90)
  message(FATAL_ERROR "expected the public headers, got ${count}")
endif()
file(MAKE_DIRECTORY ${WORK})
foreach(header IN LISTS all)
  file(WRITE ${WORK}/includes.cpp "#include <${header}>\n")
  # #error does not stop compilation: the preprocessor shows that it comes first;
  # the umbrella header is compiled.
  set(mode -E)
  if(header STREQUAL "octet/octet.h")
    set(mode -fsyntax-only)
  endif()
  execute_process(
    COMMAND ${COMPILER} -std=c++17 ${mode} ${includes} ${WORK}/includes.cpp
    OUTPUT_QUIET ERROR_VARIABLE said RESULT_VARIABLE status)
  string(REGEX MATCH "error: [^\n]*" first "${said}")
  if(status EQUAL 0 OR NOT first MATCHES "error:? \"?Octet needs C\\+\\+20")
    message(FATAL_ERROR "${header} as C++17: expected to be told of C++20 "
                        "first, got: ${first}")
  endif()
endforeach()
message("${count} headers")
