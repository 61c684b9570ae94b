import { type DraftTexts, draftTexts, type LockTexts } from '../../../src/react/index.ts'

export interface EditorTexts extends DraftTexts {
  readonly document: string
  readonly name: string
  readonly placeholder: string
  readonly preview: string
  readonly write: string
  readonly emptyPreview: string
  /** At the end of the preview of a long text. */
  readonly longPreview: string
  /** Explains the number beside the name of the document. */
  readonly token: (token: number | null) => string
  readonly keepMine: string
  readonly documents: string
  readonly newDocument: string
  readonly open: string
  readonly badName: string
  readonly youEdit: string
  readonly youEditElsewhere: string
  readonly isEditing: (name: string | null) => string
  /** How many wait for a document that is not open here. */
  readonly inLine: (count: number) => string
  readonly forget: (name: string) => string
  readonly notify: string
  readonly notifyBlocked: string
  /** The status of a text that nobody has changed yet. */
  readonly unchanged: string
  /** The words of CodeMirror itself. */
  readonly phrases: Readonly<Record<string, string>>
  /** Words of the banner that are true in this editor only. */
  readonly banner: Partial<LockTexts>
}

const en: EditorTexts = {
  ...draftTexts.en,
  document: 'Document',
  name: 'Your name',
  placeholder: 'Nothing is written yet.',
  preview: 'Preview',
  write: 'Text',
  emptyPreview: 'The preview of your text appears here.',
  longPreview: 'The preview ends here, because the text is long.',
  token: (token) => `The number of your turn: ${token}. A save with an older number is refused.`,
  keepMine: 'Keep mine here',
  documents: 'Documents',
  newDocument: 'Name of a document',
  open: 'Open or create',
  badName: 'A name may have up to 200 bytes, and no control characters.',
  youEdit: 'You are editing',
  youEditElsewhere: 'You are editing in another tab',
  isEditing: (name) => `${name ?? 'Somebody'} is editing`,
  inLine: (count) => `${count} waiting`,
  forget: (name) => `Remove ${name} from this list`,
  notify: 'Notify me when somebody asks for my document',
  notifyBlocked: 'Your browser does not let this page notify you',
  unchanged: 'Not changed yet',
  phrases: {},
  banner: { troubled: 'Connection trouble. You can keep typing. We will retry the save.' },
}

const ja: EditorTexts = {
  ...draftTexts.ja,
  document: '文書',
  name: 'お名前',
  placeholder: 'まだ何も書かれていません。',
  preview: 'プレビュー',
  write: '本文',
  emptyPreview: '本文のプレビューがここに表示されます。',
  longPreview: '文章が長いため、プレビューはここまでです。',
  token: (token) => `あなたの順番の番号（${token}）です。これより古い番号での保存は拒否されます。`,
  keepMine: 'このままにする',
  documents: '文書一覧',
  newDocument: '文書の名前',
  open: '開く・作成',
  badName: '名前は200バイト以内で、制御文字は使えません。',
  youEdit: 'あなたが編集中',
  youEditElsewhere: '別のタブであなたが編集中',
  isEditing: (name) => (name === null ? 'ほかの人が編集中' : `${name}さんが編集中`),
  inLine: (count) => `${count}人が待っています`,
  forget: (name) => `${name}を一覧から外す`,
  notify: '交代をお願いされたら通知する',
  notifyBlocked: 'このページからの通知は、ブラウザーで許可されていません',
  unchanged: 'まだ変更なし',
  phrases: {
    '$ unchanged lines': '変更のない$行',
    'Selection deleted': '選択範囲を削除しました',
  },
  banner: { troubled: '接続が不安定です。入力は続けられます。保存は自動でやり直します。' },
}

export const editorTexts = { en, ja }
