# Writes a CTest file with one test per test suite of a GoogleTest executable,
# because starting a process takes longer than most test cases. Splits suites of
# more than 200 cases into shards; excludes suites named Slow*.
# Variables: EXECUTABLE, OUTPUT, LABEL.
execute_process(
  COMMAND ${EXECUTABLE} --gtest_list_tests --gtest_filter=-Slow*
  OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "#[^\n]*" "" listing "${listing}")
string(REPLACE "\n" ";" lines "${listing}")

set(cases_per_shard 200)
set(script "")
set(suite "")
set(cases 0)

macro(add_suite)
  if(suite AND cases GREATER 0)
    math(EXPR shards "(${cases} + ${cases_per_shard} - 1) / ${cases_per_shard}")
    math(EXPR last "${shards} - 1")
    foreach(shard RANGE ${last})
      set(name "${suite}")
      set(environment "")
      if(shards GREATER 1)
        math(EXPR number "${shard} + 1")
        string(APPEND name " ${number}/${shards}")
        set(environment
          "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
      endif()
      string(APPEND script
        "add_test([==[${name}]==] [==[${EXECUTABLE}]==] --gtest_brief=1 "
        "[==[--gtest_filter=${suite}.*]==])\n"
        "set_tests_properties([==[${name}]==] PROPERTIES LABELS ${LABEL} "
        "TIMEOUT 300")
      if(environment)
        string(APPEND script " ENVIRONMENT [==[${environment}]==]")
      endif()
      string(APPEND script ")\n")
    endforeach()
  endif()
endmacro()

foreach(line IN LISTS lines)
  string(STRIP "${line}" word)
  if(line MATCHES "^[^ ].*\\.[ ]*$")
    add_suite()
    string(REGEX REPLACE "\\.$" "" suite "${word}")
    set(cases 0)
  elseif(line MATCHES "^  ")
    math(EXPR cases "${cases} + 1")
  endif()
endforeach()
add_suite()
file(WRITE ${OUTPUT} "${script}")
