from __future__ import annotations

from llmframe.testing.files import Files


def test_files_are_kept_by_their_ids_newest_first_until_removed():
    files = Files()
    made = [files.add(b"123", name=f"{i}.jsonl", purpose=purpose, created=i) for i, purpose in enumerate("xyx")]
    assert [file.name for file in files.newest("x")] == ["2.jsonl", "0.jsonl"]
    assert len(files.newest(None)) == 3
    assert files.get(made[1].id) is made[1]
    files.remove(made[1].id)
    assert files.get(made[1].id) is None
    files.clear()
    assert files.newest(None) == []


def test_a_file_tells_its_name_size_and_time():
    told = Files().add(b"123", name="a.jsonl", purpose="batch", created=7).object()
    assert (told["filename"], told["bytes"], told["created_at"], told["purpose"]) == ("a.jsonl", 3, 7, "batch")


def test_no_two_providers_give_the_same_id():
    ids = {Files().add(b"", name="", purpose="batch", created=0).id for _ in range(20)}
    assert len(ids) == 20
