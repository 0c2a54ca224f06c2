"""Builds hat.pyx against the installed package: python setup.py build_ext --inplace."""
import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup

import interp.kernels

setup(ext_modules=cythonize([Extension("hat", ["hat.pyx"], include_dirs=[*interp.kernels.__path__, np.get_include()])],
                            language_level=3))
