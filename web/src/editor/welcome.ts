import { textCodec } from '../../../src/client/index.ts'
import type { Lang } from '../ui/preferences.ts'

const en = `# Welcome

One person writes here at a time. Everybody else reads along, and writes when it is their turn.

Press **Edit** above, and finish this line: a good lunch is

## Worth a try

- Let somebody ask for the document, and hand it over
- Pull the plug in the middle of a sentence: nothing that you have typed is lost
- Give the last line to a second person

Last line:
`

const ja = `# ようこそ

この文書に書き込めるのは、一度に一人だけです。書いた内容はすぐにほかの人へ届き、順番が来ればその人も書けます。

上の**編集する**を押して、続きを書いてみてください。今日のお昼は、

## ためしてみましょう

- 交代をお願いされたら、渡してみる
- 書いている途中で接続を切ってみる。書いた言葉は残ります
- 最後の行は、もう一人に書いてもらう

最後の行：
`

const welcomes: Readonly<Record<Lang, string>> = { en, ja }

/** The start page's document begins with a text. It is not saved until somebody changes it. */
export function welcomeCodec(lang: Lang): typeof textCodec {
  return { ...textCodec, decode: (saved) => textCodec.decode(saved ?? welcomes[lang]) }
}
