import numpy as np
import pytest
from tuning_support import Bench


@pytest.fixture
def out():
    return np.zeros(1, np.int32)


@pytest.fixture
def bench(out):
    return Bench(out)
