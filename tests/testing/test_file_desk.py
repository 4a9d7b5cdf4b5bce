from __future__ import annotations

import openai
import pytest


def test_a_file_is_uploaded_asked_after_listed_read_and_deleted(with_batches):
    async def main(kit):
        kit.provider.batches.clock = lambda: 1_700.9
        data = '{"text": "é漢\\r\\n--mark"}\n'.encode()
        file = await kit.upload(data)
        assert (file.filename, file.bytes, file.created_at, file.status) == (
            "lines.jsonl",
            len(data),
            1_700,
            "processed",
        )
        assert (await kit.sdk.files.retrieve(file.id)).id == file.id
        assert [one.id for one in (await kit.sdk.files.list(purpose="batch")).data] == [file.id]
        assert (await kit.sdk.files.list(purpose="batch_output")).data == []
        assert (await kit.sdk.files.content(file.id)).content == data
        assert (await kit.sdk.files.delete(file.id)).deleted
        for ask in (kit.sdk.files.retrieve, kit.sdk.files.content, kit.sdk.files.delete):
            with pytest.raises(openai.NotFoundError, match=file.id):
                await ask(file.id)
        calls = {"upload": 1, "file": 2, "files": 2, "content": 2, "delete": 2}
        assert (kit.provider.batches.calls, kit.provider.batches.uploads) == (calls, 1)

    with_batches(main)


def test_files_for_other_purposes_and_broken_forms_are_refused(with_batches, http_kit):
    async def main(kit):
        with pytest.raises(openai.BadRequestError, match="fine-tune"):
            await kit.sdk.files.create(file=("x", b"x"), purpose="fine-tune")
        got = http_kit.call(kit.provider, "POST", "/files", "{}")
        assert (got.status, "multipart" in got.error["message"]) == (400, True)

    with_batches(main)


def test_a_large_file_in_chunks_arrives_whole(with_batches):
    async def main(kit):
        data = b"x" * 5_000_000

        async def chunks():
            head = b'--m\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            yield head + b'--m\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
            for at in range(0, len(data), 7_001):
                yield data[at : at + 7_001]
            yield b"\r\n--m--\r\n"

        headers = {"Content-Type": "multipart/form-data; boundary=m", "Authorization": "Bearer k"}
        url = f"{kit.provider.base_url}/files"
        answer = await kit.sdk._client.post(url, content=chunks(), headers=headers)
        assert (await kit.sdk.files.content(answer.json()["id"])).content == data

    with_batches(main)
