"""Texts that tokenizers trip over, and a strategy for more of them."""

from hypothesis import strategies as st

MILLION = 1_000_000

PATHOLOGICAL = {
    "spaces": " " * MILLION,
    "letters": "a" * MILLION,
    "dashes": "-" * MILLION,
    "newlines": "\n" * MILLION,
    "base64": ("QmFzZTY0IGxpbmUgd2l0aG91dCBhIGJyZWFr" * (MILLION // 36 + 1))[:MILLION],
    "chinese": ("压缩对话记录时不能破坏调用与结果的配对" * (MILLION // 19 + 1))[:MILLION],
    "emoji": "🙂" * (MILLION // 4),
}

ORDINARY = [
    "",
    "hello world",
    "def f(x):\n    return x  # it's fine, isn't it\n\n\nclass C:\n\tpass\n",
    '{"file_path":"/src/app.py","content":"a\\nb"}',
    "drwxr-xr-x  2 root root 4096 Nov 30 14:35 .\n" * 40,
    "// comment\n/* another */\n/usr/bin\n//\n\n/",
    "word\r\n  word\r\n\r\n\t word   \n \n",
    "<|endoftext|><|fim_prefix|><|endofprompt|>",
    "1234567 12 1,234.5 ½ ٣ Ⅷ",
    "Größe naïve Ελλάδα Россия हिन्दी ไทย 한국어 日本語 漢字かな",
    "👩‍👩‍👧‍👦 🏳️‍🌈 e\u0301 \u200b \ufeff \x00 \x1c \u0085 \u2028 \u00a0",
    "\ud800",
    "a\udc00b\ud83d",
    "pair \ud83d\ude00 in halves",
]

_PIECES = (
    *("\n", "\n\n", "\r\n", " ", "   ", "\t", "/", "//", ".", "...", "-", "'s", "'LL", "{", '":'),
    *("a", "The", " quick", "HTTPServer", "x1", "123", "4567", "é", "e\u0301", "中文", "한", "🙂"),
    *("<|endoftext|>", "\x1c", "\u0085", "\u00a0", "\u2028", "\u3000", "\ufffd", "ǅ", "ʰ"),
)

sound_texts = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join) | st.text()
texts = sound_texts | st.text(st.characters()) | st.text(st.sampled_from("a \n\ud83d\ude00\udfff"))
