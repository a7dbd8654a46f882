"""The shipped NHANES table and the public constants of the earlier cycle."""

import gzip
import hashlib
import re
import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import geomstats_ldp.datasets
from geomstats_ldp.datasets import NHANES_2015_2016, load_nhanes_body_measures


def _clip(X, bound):
    norm = np.linalg.norm(X, axis=1)
    return X * np.minimum(1.0, bound / norm)[:, None], norm > bound


def _tangent_basis(direction):
    """Two orthonormal rows orthogonal to the direction."""
    return np.linalg.svd(direction[None, :])[2][1:]


@pytest.fixture(scope="module")
def measures():
    return load_nhanes_body_measures()


def test_table_is_complete(measures):
    assert measures.data.shape == (5175, 3)
    assert measures.data.dtype == np.float64
    assert measures.feature_names == ["height_cm", "weight_kg", "waist_cm"]
    assert np.isfinite(measures.data).all()
    assert (measures.data > 0).all()


def test_rows_follow_the_respondent_numbers(measures):
    assert measures.respondent_id.shape == (5175,)
    assert (np.diff(measures.respondent_id) > 0).all()


def test_columns_are_what_their_names_say(measures):
    """Adults of 1.66 m, 82 kg and a waist of 1 m on average: no column is swapped."""
    np.testing.assert_allclose(measures.data.mean(axis=0), NHANES_2015_2016.mean, rtol=0.02)


def test_women_are_shorter_on_average(measures):
    heights = measures.data[:, 0]
    assert measures.is_female.dtype == bool and 0.5 < measures.is_female.mean() < 0.53
    assert heights[~measures.is_female].mean() - heights[measures.is_female].mean() > 12


def test_each_call_gives_its_own_arrays(measures):
    other = load_nhanes_body_measures()
    other.data[:] = 0.0
    assert (measures.data > 0).all()
    assert (load_nhanes_body_measures().data > 0).all()


def test_description_states_provenance_and_checksum(measures):
    assert "public domain" in measures.DESCR
    packed = files("geomstats_ldp.datasets") / "data" / "nhanes_2017_2018_body_measures.csv.gz"
    digest = hashlib.sha256(gzip.decompress(packed.read_bytes())).hexdigest()
    assert re.findall(r"\b[0-9a-f]{64}\b", measures.DESCR) == [digest]


def test_published_facts_of_the_analysis_cycle(measures):
    """Clipped fraction 11.6% and batch direction, as the reference paper reports them."""
    standardised = NHANES_2015_2016.standardise(measures.data)
    clipped, was_clipped = _clip(standardised, NHANES_2015_2016.norm_bound)
    assert was_clipped.mean() == pytest.approx(0.116, abs=5e-4)

    leading = np.linalg.eigh(clipped.T @ clipped / len(clipped))[1][:, -1]
    leading *= np.sign(leading.sum())
    np.testing.assert_allclose(leading, [0.413, 0.670, 0.617], rtol=0, atol=5e-4)


def test_constants_are_read_only():
    with pytest.raises(AttributeError):
        NHANES_2015_2016.norm_bound = 3.0
    for array in (
        NHANES_2015_2016.mean,
        NHANES_2015_2016.standard_deviation,
        NHANES_2015_2016.second_moment,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_second_moment_can_be_one_of_clipped_rows():
    moment = NHANES_2015_2016.second_moment
    np.testing.assert_array_equal(moment, moment.T)
    assert np.linalg.eigvalsh(moment).min() > 0
    # The rows have norm at most B; clipping can only lower the three unit variances.
    assert np.trace(moment) <= min(3.0, NHANES_2015_2016.norm_bound**2)


def test_leading_direction_solves_the_eigenproblem():
    moment = NHANES_2015_2016.second_moment
    direction = NHANES_2015_2016.leading_direction()
    largest = direction @ moment @ direction
    assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-14)
    assert direction.sum() > 0
    np.testing.assert_allclose(moment @ direction, largest * direction, rtol=0, atol=1e-14)
    assert largest == pytest.approx(np.linalg.eigvalsh(moment).max(), abs=1e-14)


def test_eigengap_hessian_is_the_second_derivative_of_the_loss():
    """Compare with second differences of -u^T S u / 2 along great circles."""
    moment = NHANES_2015_2016.second_moment
    direction = NHANES_2015_2016.leading_direction()
    basis = _tangent_basis(direction)
    hessian = NHANES_2015_2016.eigengap_hessian(basis)

    def loss(coordinates, step=1e-3):
        tangent = step * coordinates @ basis
        angle = np.linalg.norm(tangent)
        point = np.cos(angle) * direction + np.sin(angle) / angle * tangent
        return -0.5 * point @ moment @ point

    at_minimum = -0.5 * direction @ moment @ direction
    for coordinates in ([1.0, 0.0], [0.0, 1.0], [0.6, 0.8]):
        vector = np.array(coordinates)
        curvature = (loss(vector) - 2 * at_minimum + loss(-vector)) / 1e-6
        # Truncation is O(step^2), about 1e-6; rounding about 1e-16 / step^2 = 1e-10.
        assert curvature == pytest.approx(vector @ hessian @ vector, abs=5e-6)


def test_eigengap_hessian_has_the_gaps_as_eigenvalues():
    eigenvalues = np.linalg.eigvalsh(NHANES_2015_2016.second_moment)
    basis = _tangent_basis(NHANES_2015_2016.leading_direction())
    hessian = NHANES_2015_2016.eigengap_hessian(basis)
    gaps = eigenvalues[-1] - eigenvalues[1::-1]
    np.testing.assert_allclose(np.linalg.eigvalsh(hessian), gaps, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("basis", "message"),
    [
        (np.eye(3), "shape"),
        (2.0 * _tangent_basis(NHANES_2015_2016.leading_direction()), "orthonormal"),
        (np.eye(3)[:2], "orthogonal to the leading direction"),
        (np.full((2, 3), np.nan), "finite"),
    ],
)
def test_eigengap_hessian_refuses_other_bases(basis, message):
    with pytest.raises(ValueError, match=message):
        NHANES_2015_2016.eigengap_hessian(basis)


def test_standardise_undoes_the_units():
    reference = NHANES_2015_2016
    np.testing.assert_array_equal(reference.standardise(reference.mean), np.zeros(3))
    rows = reference.mean + np.eye(3) * reference.standard_deviation
    np.testing.assert_allclose(reference.standardise(rows), np.eye(3), rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="shape"):
        reference.standardise(np.zeros((4, 2)))


@pytest.mark.slow  # a process
def test_loads_from_a_zip_archive(tmp_path):
    """The table is read through importlib.resources, so the package need not lie on a disk."""
    folder = Path(geomstats_ldp.datasets.__file__).parent
    archive = tmp_path / "package.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        # An empty root keeps the other subpackages out of the archive.
        packed.writestr("geomstats_ldp/__init__.py", "")
        for name in (
            "exceptions.py",
            "validation.py",
            "datasets/__init__.py",
            "datasets/nhanes.py",
        ):
            packed.write(folder.parent / name, f"geomstats_ldp/{name}")
        for file in (folder / "data").iterdir():
            packed.write(file, f"geomstats_ldp/datasets/data/{file.name}")
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "import geomstats_ldp.datasets as datasets\n"
        "assert 'package.zip' in datasets.__file__, datasets.__file__\n"
        "print(datasets.load_nhanes_body_measures().data.shape)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "(5175, 3)"
