"""What scripts/plain_words.py counts and refuses."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "scripts"))
import plain_words  # noqa: E402  (lies beside the scripts that use it)

PAGE = "docs/glossary.md"  # 600 words at most


def faults(text, page=PAGE):
    return plain_words.faults(page, text)


def main():
    word = "word "
    assert faults(word * 25) == []
    assert faults(f"One two. Word {word * 25}") == [
        (1, "a sentence of 26 words, 25 at most: Word word word word word ...")]
    # A paragraph goes on over its lines, an item of a list and an empty line begin another one.
    assert len(faults(f"{word * 13}\n{word * 13}")) == 1
    assert faults(f"{word * 13}\n\n{word * 13}") == []
    assert faults(f"* {word * 13}\n* {word * 13}") == []
    assert [line for line, _ in faults(f"\n* {word * 13}\n  {word * 13}")] == [2]
    # An enumerator begins a sentence, another word in small letters goes on with one.
    assert plain_words.sentences("One. kTwo: three. kept, i.e. four.") == [
        "One.", "kTwo: three. kept, i.e. four."]
    # Numbers, code, addresses and blocks of code are no words.
    assert plain_words.words("a `b c d` 1.15 [1.13, 1.17] [one two](x y) – ±") == [
        "a", "code", "one", "two"]
    assert faults(f"```\n{word * 700}\n```\n") == []
    # Cells.
    row = f"| a | {word * 15} |"
    assert faults(f"| head | head |\n|---|:--|\n{row}\n") == []
    assert faults(f"| head | head |\n|---|:--|\n| {word * 16} | {word} |\n") == [
        (3, "a cell of 16 words, 15 at most")]
    # A list that the program prints is not read, what stands around it is.
    long = f"| {word * 16} |"
    assert faults(f"<!-- approxtrain list methods -->\n{long}\n\n{long}\n"
                  f"<!-- end of the list -->\n{long}\n") == [(6, "a cell of 16 words, 15 at most")]
    assert len(faults(f"<!-- another remark -->\n{long}\n")) == 1
    # How a sentence may begin.
    begun = "a sentence begins with {}: put its subject first"
    assert faults("Good. Of these two are bad.") == [(1, begun.format("Of"))]
    assert faults("**The same** holds.") == []
    assert faults("The same holds.") == [(1, begun.format("The same"))]
    assert faults("What is this?") == [] and faults("What this is.") == [(1, begun.format("What"))]
    assert faults("Often it is right. Whatever.") == []
    # The length of a page.
    assert faults("Word word.\n" * 301) == [(1, "602 words, 600 at most")]
    assert faults(f"Of {word * 99}", page="docs/another.md") == []
    # Pages that are made of reports: sentences count, cells do not.
    assert faults(f"{long}\n\nOf these.", page="docs/results/x.md") == [(3, begun.format("Of"))]
    # Comments of headers: blocks of lines, with the line that each begins in.
    blocks = plain_words.comment_blocks
    assert blocks("// One\n// two.\n#pragma once\n\n  // Three\n  // four.\nint f();\n") == [
        (1, "One two."), (5, "Three four.")]
    assert blocks("// One\n//\n// two\n\n// three\n  // four\n") == [
        (1, "One"), (3, "two"), (5, "three"), (6, "four")]
    # A comment behind code goes on in its column, and not over the next line of code.
    assert blocks("int a = 1;  // one\n            // two\nint b = 1;  // three\n// four\n") == [
        (1, "one two"), (3, "three"), (4, "four")]
    # Items of lists, and indented lines: rows of tables, equations, code.
    assert blocks("// One:\n// - two\n//   three\n// - four\n// five\n") == [
        (1, "One:"), (2, "two three"), (4, "four"), (5, "five")]
    assert blocks("// One:\n//   a  two\n//      three\n//   b  four\n// five\n") == [
        (1, "One:"), (2, "a  two three"), (4, "b  four"), (5, "five")]
    # Text and characters of C++ are no comments, remarks to tools are not read.
    assert blocks("auto a = \"http://b\";  // one\nchar c = '\"';  // a \"two\"\n"
                  "int d = 1'000;  // three\nconst char* e = \"\\\"//\";\n") == [
                      (1, "one"), (2, 'a "two"'), (3, "three")]
    assert blocks("// one\n// NOLINTNEXTLINE(readability)\n// clang-format off\n// two\n") == [
        (1, "one"), (4, "two")]
    # What is refused of them.
    assert plain_words.comment_faults(f"// {word * 13}\n// {word * 13}\nint f();\n") == [
        (1, "a sentence of 26 words, 25 at most: word word word word word ...")]
    assert plain_words.comment_faults(f"// {word * 13}\nint f();\n// {word * 13}\n") == []
    assert plain_words.comment_faults("\nint f();  // Of these two.\n") == [(2, begun.format("Of"))]
    assert plain_words.comment_faults("// What is this?\n// Of course.\n") == [
        (1, begun.format("Of"))]
    # Headers of folders that are not listed are not held to it, nor are other files.
    folder = plain_words.HEADERS[0]
    assert len(plain_words.header_faults(f"{folder}/a.h", "// Of one.\n")) == 1
    assert len(plain_words.header_faults(f"{folder}/in/a.h", "// Of one.\n")) == 1
    for path in (f"{folder}/a.cpp", f"{folder}2/a.h", "another/a.h"):
        assert plain_words.header_faults(path, "// Of one.\n") == []
    # Each page and each folder of headers exists.
    for name in plain_words.HEADERS:
        assert os.path.isdir(os.path.join(os.path.dirname(__file__), "..", "..", name)), name
    for page in plain_words.PAGES:
        assert os.path.exists(os.path.join(os.path.dirname(__file__), "..", "..", page)), page


if __name__ == "__main__":
    main()
