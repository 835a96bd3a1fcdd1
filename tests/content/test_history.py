"""What a page was seen to do, in few bytes."""

import hypothesis.strategies as st
from hypothesis import given

from recrawl.content.history import History

keys = st.binary(min_size=8, max_size=8)
digests = st.binary(min_size=4, max_size=4)
histories = st.builds(
    History,
    st.lists(digests, max_size=20).map(tuple),
    st.lists(st.tuples(keys, st.integers(1, 400)), max_size=200).map(tuple),
)


@given(histories)
def test_a_page_with_any_number_of_suspects_takes_at_most_200_bytes(history: History) -> None:
    packed = history.to_bytes()
    assert len(packed) <= 200
    kept = History.from_bytes(packed)
    assert kept.digests == history.digests[-4:]
    newest = [(key, min(count, 255)) for key, count in history.suspects]
    assert list(kept.suspects) == newest[len(newest) - len(kept.suspects) :]
    assert kept.to_bytes() == packed


def test_the_newest_suspects_are_kept() -> None:
    suspects = tuple((bytes([number] * 8), 1) for number in range(100))
    kept = History(suspects=suspects).to_bytes()
    assert History.from_bytes(kept).suspects == suspects[-18:]
