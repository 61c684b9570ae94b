import type { DraftStatus } from './draft.ts'

export interface EditorTexts {
  readonly document: string
  readonly name: string
  readonly placeholder: string
  readonly status: Readonly<Record<DraftStatus, string>>
  readonly kept: string
  readonly refused: string
  readonly unreadable: string
  readonly copy: string
  readonly copied: string
  readonly compare: string
  readonly mine: string
  readonly theirs: string
  readonly saveMine: string
  readonly discard: string
  readonly drop: string
  readonly hint: string
}

const en: EditorTexts = {
  document: 'Document',
  name: 'Your name',
  placeholder: 'Nothing is written yet.',
  status: {
    loading: 'Loading',
    saved: 'Saved',
    dirty: 'Not saved yet',
    saving: 'Saving',
    kept: 'Not saved',
    refused: 'Not saved',
    unreadable: 'Cannot be read',
  },
  kept: 'Your text is not saved: another may have changed the document since. It is kept here.',
  refused:
    'Your text was not saved. It may be too long, or you may not write here any more. It is kept here: shorten it, or copy it.',
  unreadable:
    'The stored text cannot be read. It may be damaged, or another program wrote it. It stays until you edit, write, and save yours over it.',
  copy: 'Copy my text',
  copied: 'Copied',
  compare: 'Compare',
  mine: 'Mine, not saved',
  theirs: 'Stored',
  saveMine: 'Save mine over it',
  discard: 'Show the stored text',
  drop: 'Drop my text',
  hint: 'Open this page in a second window to see what the other sees.',
}

const ja: EditorTexts = {
  document: '文書',
  name: 'お名前',
  placeholder: 'まだ何も書かれていません。',
  status: {
    loading: '読み込み中',
    saved: '保存済み',
    dirty: '未保存',
    saving: '保存中',
    kept: '保存されていません',
    refused: '保存されていません',
    unreadable: '読み取れません',
  },
  kept: 'ほかの人が文書を変更した可能性があるため、あなたの文章は保存されていません。この画面に残っています。',
  refused:
    '文章を保存できませんでした。長すぎるか、書き込みが許可されていない可能性があります。この画面に残っていますので、短くするか、コピーしてください。',
  unreadable:
    '保存されている文章を読み取れません。壊れているか、別のプログラムが書いた可能性があります。編集を始めて自分の文章で保存するまで、そのまま残ります。',
  copy: '文章をコピー',
  copied: 'コピーしました',
  compare: '比べる',
  mine: 'あなたの文章（未保存）',
  theirs: '保存されている文章',
  saveMine: '自分の文章で保存する',
  discard: '保存されている文章を表示',
  drop: '自分の文章を破棄',
  hint: '別のウィンドウでも開くと、相手にどう見えるかがわかります。',
}

export const editorTexts = { en, ja }
