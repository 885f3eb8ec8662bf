"""The public names: both doors list them in order, and hand out the same objects."""

import importlib

import pytest

import runwire
import runwire_normalizers

DOORS = ["runwire", "runwire_normalizers"]


@pytest.mark.parametrize("door", DOORS)
def test_public_names_are_sorted_and_unique(door):
    names = importlib.import_module(door).__all__
    assert names == sorted(set(names))


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_exists(door):
    module = importlib.import_module(door)
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_the_front_door_re_exports_the_normalizers_own_objects():
    shared = set(runwire.__all__) & set(runwire_normalizers.__all__)
    assert {"Envelope", "StreamAdapter", "conformance"} <= shared
    assert [name for name in shared if getattr(runwire, name) is not getattr(runwire_normalizers, name)] == []
