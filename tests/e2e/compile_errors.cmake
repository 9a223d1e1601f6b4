# Common mistakes: each file of SNIPPETS must not compile, with at
# most ten lines of output, one of which matches the file's first line.
set(kMostLines 10)
foreach(module runtime layers quant session train io)
  list(APPEND includes -I${SOURCE}/${module}/include)
endforeach()
file(GLOB snippets ${SNIPPETS}/*.cpp)
list(LENGTH snippets count)
if(count EQUAL 0)
  message(FATAL_ERROR "no snippets in ${SNIPPETS}")
endif()
foreach(snippet IN LISTS snippets)
  get_filename_component(name ${snippet} NAME)
  # Compiled in its folder, for short paths.
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C
      ${COMPILER} -std=c++20 -fsyntax-only ${includes} ${name}
    WORKING_DIRECTORY ${SNIPPETS}
    OUTPUT_QUIET ERROR_VARIABLE said RESULT_VARIABLE status)
  file(STRINGS ${snippet} expected LIMIT_COUNT 1)
  string(REGEX REPLACE "^// says: " "" expected "${expected}")
  string(REGEX MATCHALL "\n" lines "${said}")
  list(LENGTH lines lines)
  if(status EQUAL 0)
    message(SEND_ERROR "${name}: compiles, but must not")
  elseif(NOT said MATCHES "${expected}")
    message(SEND_ERROR "${name}: no line matches '${expected}':\n${said}")
  elseif(lines GREATER kMostLines)
    message(SEND_ERROR "${name}: ${lines} lines, at most ${kMostLines}:\n${said}")
  else()
    message("${name}: ${lines} lines")
  endif()
endforeach()
