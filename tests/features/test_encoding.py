import numpy as np

from deepbinaries.features.encoding import are_finite


def test_every_float16_is_as_finite_as_numpy_says():
    every = np.arange(2**16, dtype=np.uint16).view(np.float16).reshape(-1, 1, 1)
    assert np.array_equal(are_finite(every), np.isfinite(every).all(axis=(1, 2)))


def test_one_number_that_is_not_finite_is_found_wherever_it_is():
    features = np.ones((6, 2, 3), np.float16)
    for item in range(6):
        features[item].flat[item] = np.nan
    assert not are_finite(features).any()
    assert are_finite(features[:, ::-1, ::2]).tolist() == [False, True, False, False, True, False]
