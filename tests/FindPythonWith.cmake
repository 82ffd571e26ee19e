# mdmini_find_python(RESULT module...): the first python3 that can import all modules. The python3 on PATH may be one
# that does not see the distribution's modules, so /usr/bin/python3 is tried too.
function(mdmini_find_python result)
  list(JOIN ARGN "," modules)
  foreach(candidate python3 /usr/bin/python3)
    execute_process(COMMAND ${candidate} -c "import ${modules}" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(NOT failed)
      set(${result} ${candidate} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(STATUS "No python3 that imports ${modules} was found (python3, /usr/bin/python3): tests that need them will say so")
  set(${result} /usr/bin/python3 PARENT_SCOPE)
endfunction()
