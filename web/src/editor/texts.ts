import type { LockTexts } from '../../../src/react/index.ts'
import type { DraftStatus } from './draft.ts'

export interface EditorTexts {
  readonly document: string
  readonly name: string
  readonly placeholder: string
  readonly preview: string
  readonly write: string
  readonly emptyPreview: string
  readonly status: Readonly<Record<DraftStatus, string>>
  /** The status of a document that nobody has written yet. */
  readonly nothingSaved: string
  readonly savedAt: (time: string) => string
  readonly readOnly: string
  /** Explains the number beside the name of the document. */
  readonly token: string
  /** Not saved, and nobody else has saved since. */
  readonly kept: (isHeld: boolean) => string
  /** Not saved, and somebody else has saved since. */
  readonly outdated: (isHeld: boolean) => string
  readonly refused: string
  readonly unreadable: string
  readonly copy: string
  readonly copied: string
  readonly compare: string
  readonly closeCompare: string
  readonly mine: string
  readonly theirs: string
  readonly saveMine: string
  readonly takeTheirs: string
  /** Of one difference. */
  readonly takeChange: string
  readonly keepMine: string
  readonly tookTheirs: string
  readonly bringBack: string
  readonly drop: string
  readonly documents: string
  readonly newDocument: string
  readonly open: string
  readonly badName: string
  readonly youEdit: string
  readonly isEditing: (name: string | null) => string
  readonly forget: (name: string) => string
  /** The words of CodeMirror itself. */
  readonly phrases: Readonly<Record<string, string>>
  /** Words of the banner that are true in this editor only. */
  readonly banner: Partial<LockTexts>
}

const en: EditorTexts = {
  document: 'Document',
  name: 'Your name',
  placeholder: 'Nothing is written yet.',
  preview: 'Preview',
  write: 'Text',
  emptyPreview: 'The preview of your text appears here.',
  status: {
    loading: 'Loading',
    saved: 'Saved',
    dirty: 'Not saved yet',
    saving: 'Saving',
    kept: 'Not saved',
    refused: 'Not saved',
    unreadable: 'Cannot be read',
  },
  nothingSaved: 'Empty',
  savedAt: (time) => `Saved ${time}`,
  readOnly: 'Read only',
  token: 'The number of your turn. A save with an older number is refused.',
  kept: (isHeld) =>
    `Your last words are not saved. They are kept here, and nobody has changed the document since. ${
      isHeld ? 'They are saved in a moment.' : 'They are saved when you edit again.'
    }`,
  outdated: (isHeld) =>
    `Your text is not saved, because somebody else has saved another version. Both are kept. ${
      isHeld ? 'Compare them, and decide what to save.' : 'Compare them. To save, edit again first.'
    }`,
  refused:
    'The server did not accept your text. It may be too long, or you may not write here any more. It is kept here: shorten it, or copy it.',
  unreadable:
    'The stored text cannot be read. It may be damaged, or another program wrote it. It stays until you edit, write, and save yours over it.',
  copy: 'Copy my text',
  copied: 'Copied',
  compare: 'Compare',
  closeCompare: 'Close the comparison',
  mine: 'Mine, not saved',
  theirs: 'Stored',
  saveMine: 'Save mine',
  takeTheirs: 'Take theirs',
  takeChange: 'Take this part of theirs',
  keepMine: 'Keep mine here',
  tookTheirs: 'You took the stored text.',
  bringBack: 'Bring mine back',
  drop: 'Drop my text',
  documents: 'Documents',
  newDocument: 'Name of a document',
  open: 'Open or create',
  badName: 'A name may have up to 200 bytes, and no control characters.',
  youEdit: 'You are editing',
  isEditing: (name) => `${name ?? 'Somebody'} is editing`,
  forget: (name) => `Remove ${name} from this list`,
  phrases: {},
  banner: { troubled: 'Connection trouble. You can keep typing. We will retry the save.' },
}

const ja: EditorTexts = {
  document: '文書',
  name: 'お名前',
  placeholder: 'まだ何も書かれていません。',
  preview: 'プレビュー',
  write: '本文',
  emptyPreview: '本文のプレビューがここに表示されます。',
  status: {
    loading: '読み込み中',
    saved: '保存済み',
    dirty: '未保存',
    saving: '保存中',
    kept: '保存されていません',
    refused: '保存されていません',
    unreadable: '読み取れません',
  },
  nothingSaved: '空の文書',
  savedAt: (time) => `${time}に保存`,
  readOnly: '閲覧のみ',
  token: 'あなたの順番の番号です。これより古い番号での保存は拒否されます。',
  kept: (isHeld) =>
    `最後に入力した部分がまだ保存されていません。この画面に残っています。その後、文書を変更した人はいません。${
      isHeld ? 'まもなく保存されます。' : 'もう一度編集すると保存されます。'
    }`,
  outdated: (isHeld) =>
    `ほかの人が別の内容を保存したため、あなたの文章は保存されていません。どちらも残っています。${
      isHeld
        ? '見比べて、どちらを保存するか決めてください。'
        : '見比べることができます。保存するには、もう一度編集してください。'
    }`,
  refused:
    'サーバーが文章を受け付けませんでした。長すぎるか、書き込みが許可されていない可能性があります。この画面に残っていますので、短くするか、コピーしてください。',
  unreadable:
    '保存されている文章を読み取れません。壊れているか、別のプログラムが書いた可能性があります。編集を始めて自分の文章で保存するまで、そのまま残ります。',
  copy: '文章をコピー',
  copied: 'コピーしました',
  compare: '見比べる',
  closeCompare: '比較を閉じる',
  mine: 'あなたの文章（未保存）',
  theirs: '保存されている文章',
  saveMine: '自分の文章を保存',
  takeTheirs: '保存されている文章にする',
  takeChange: 'この部分を取り込む',
  keepMine: 'このままにする',
  tookTheirs: '保存されている文章に戻しました。',
  bringBack: '自分の文章を元に戻す',
  drop: '自分の文章を破棄',
  documents: '文書一覧',
  newDocument: '文書の名前',
  open: '開く・作成',
  badName: '名前は200バイト以内で、制御文字は使えません。',
  youEdit: 'あなたが編集中',
  isEditing: (name) => (name === null ? 'ほかの人が編集中' : `${name}さんが編集中`),
  forget: (name) => `${name}を一覧から外す`,
  phrases: {
    '$ unchanged lines': '変更のない$行',
    'Selection deleted': '選択範囲を削除しました',
  },
  banner: { troubled: '接続が不安定です。入力は続けられます。保存は自動でやり直します。' },
}

export const editorTexts = { en, ja }
