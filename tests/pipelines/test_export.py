"""Export options are checked before anything is written."""

import pytest
from sceneloom.data.errors import InputError
from sceneloom.pipelines.export import ExportOptions


@pytest.mark.parametrize(
    "crop",
    [
        [[1, 2], [3]],
        [[1, 2, 3], [4, 5]],
        [[1, 2, 3]],
        [["a", 2, 3], [4, 5, 6]],
        [[None, 2, 3], [4, 5, 6]],
        [[{}, 2, 3], [4, 5, 6]],
        "big",
        7,
    ],
)
def test_a_crop_that_is_no_box_is_refused(crop):
    with pytest.raises(InputError, match=r"export\.crop=.*low and the high corner"):
        ExportOptions(crop=crop)


def test_a_box_is_taken():
    assert ExportOptions(crop=[[-1, -1, float("-inf")], [1, 1.5, 2]]).crop[1][1] == 1.5
