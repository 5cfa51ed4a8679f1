"""Row keys: the same for the same input, and another for any other."""

from __future__ import annotations

import base64
import hashlib

from schemactl.kernel.keys import (
    content_text,
    document_text,
    hash_children,
    hash_places,
    hash_texts,
    key_array,
    key_texts,
    keys_of,
)


def shown(digests):
    return key_array(keys_of(digests)).to_pylist()


def test_a_root_row_is_known_by_its_load_table_file_and_number():
    files = ["a", "a1", "a\n1", "b"]
    made = [shown(hash_places(load, table, file, [1, 11])) for load, table in (("1", "t"), ("2", "t"), ("1", "u"))
            for file in files]  # fmt: skip
    assert len({key for keys in made for key in keys}) == 3 * 2 * len(files)
    assert {len(key) for keys in made for key in keys} == {14}
    digest = hashlib.sha256(b"1\nt\n1\na").digest()[:10]
    assert made[0][0] == base64.b64encode(digest).decode().rstrip("=")


def test_a_nested_row_is_known_by_its_parent_table_and_place():
    assert shown(hash_children([b"other", b"root1"], "t__items", [1], [0])) == ["KQ7GAS+weooXog"]


def test_many_keys_are_those_of_each_by_itself():
    digests = hash_texts(b"%d" % number for number in range(1000))
    keys = keys_of(digests)
    assert shown(digests) == [base64.b64encode(digest).decode().rstrip("=") for digest in digests]
    assert [text.decode() for text in key_texts(keys)] == shown(digests)
    assert shown([]) == key_texts(keys_of([])) == []


def test_integers_past_64_bits_keep_all_digits_in_keys():
    numbers = [184467440737095516160, 184467440737095516161]
    made = shown(hash_texts(map(content_text, ({"a": number} for number in numbers))))
    assert len(set(made)) == 2
    digest = hashlib.shake_128(b'{"a":184467440737095516160}').digest(10)
    assert made[0] == base64.b64encode(digest).decode().rstrip("=")


def test_the_order_of_keys_and_those_of_dlt_do_not_change_a_key():
    documents = [{"a": 1, "b": {"d": 2, "c": 3}, "_dlt_id": "x"}, {"b": {"c": 3, "d": 2}, "a": 1}]
    assert len({document_text(document, "value") for document in documents}) == 1
    assert document_text([1], "list") == b'{"list":[1]}'
