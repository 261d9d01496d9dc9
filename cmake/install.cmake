# `cmake --install` gives a tree that works without the sources: the program beside its library, and
# the experiments and recipes where the program looks for them (../share/approxtrain). Only LibTorch
# stays where it is, in the Python environment that the build used; the run path leads there.
set(CMAKE_INSTALL_LIBDIR lib)  # where the program looks, also where the system has lib64
include(GNUInstallDirs)
install(TARGETS approxtrain RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS approxtrain_library LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(APPROX_OPENED)
  install(TARGETS ${APPROX_OPENED} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/approxtrain
        FILES_MATCHING PATTERN "*.toml" PATTERN "shapes/*.txt")
# What `approxtrain advice` reads.
install(FILES results/measured/which-method.json
        DESTINATION ${CMAKE_INSTALL_DATADIR}/approxtrain/results/measured)
# What `--python` starts.
install(DIRECTORY python/src/approxtrain DESTINATION ${CMAKE_INSTALL_DATADIR}/approxtrain/python/src
        FILES_MATCHING PATTERN "*.py")
install(DIRECTORY plots DESTINATION ${CMAKE_INSTALL_DATADIR}/approxtrain
        FILES_MATCHING PATTERN "*.gp")
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
