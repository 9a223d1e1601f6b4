"""Conan 2 recipe of octet::session: conan create packaging/conan"""
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Octet(ConanFile):
    name = "octet"
    version = "0.1.0"
    license = "Apache-2.0"
    description = "Inference sessions of Octet and their C interface"
    settings = "os", "compiler", "build_type", "arch"
    requires = "fmt/10.2.1", "eigen/3.4.0"

    def export_sources(self):
        root = Path(self.recipe_folder).parents[1]
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md",
                        "CHANGELOG.md", "runtime/*", "layers/*", "quant/*",
                        "session/*", "docs/*", "examples/*"):
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for option in ("WITH_ONNX", "WITH_HDF5", "BUILD_TESTS",
                       "BUILD_EXAMPLES"):
            toolchain.cache_variables[f"OCTET_{option}"] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "octet")
        self.cpp_info.set_property("cmake_target_name", "octet::session")
        self.cpp_info.libs = ["octet_session"]
        self.cpp_info.system_libs = ["pthread"]
