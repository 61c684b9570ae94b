import type { DraftStatus } from '../client/index.ts'

export interface DraftTexts {
  readonly status: Readonly<Record<DraftStatus, string>>
  /** The status of a document that nobody has written yet. */
  readonly nothingSaved: string
  /** `time`: the time of day, with the date if it was not today. */
  readonly savedAt: (time: string) => string
  readonly readOnly: string
  /** Not saved, and nobody else has saved since. */
  readonly kept: (isHeld: boolean) => string
  /** Not saved, and somebody else has changed other parts since. */
  readonly outdated: string
  /** Not saved, and somebody else has changed the same parts since. */
  readonly conflict: (isHeld: boolean) => string
  readonly refused: string
  /** `limit`: how many bytes the server accepts, if it has said so. */
  readonly tooLong: (limit: number | null) => string
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
  readonly tookTheirs: string
  readonly bringBack: string
  readonly drop: string
}

const en: DraftTexts = {
  status: {
    loading: 'Loading',
    saved: 'Saved',
    dirty: 'Not saved yet',
    saving: 'Saving',
    kept: 'Not saved',
    refused: 'Not saved',
    conflict: 'Not saved',
    unreadable: 'Cannot be read',
  },
  nothingSaved: 'Empty',
  savedAt: (time) => `Saved ${time}`,
  readOnly: 'Read only',
  kept: (isHeld) =>
    `Your last words are not saved. They are kept here, and nobody has changed the document since. ${
      isHeld ? 'They are saved in a moment.' : 'They are saved when you edit again.'
    }`,
  outdated:
    'Your last words are not saved. They are kept here. Somebody else has changed other parts since: when you edit again, both are merged and saved.',
  conflict: (isHeld) =>
    `Your text is not saved, because somebody else has saved another version of the same words. Both are kept. ${
      isHeld ? 'Compare them, and decide what to save.' : 'Compare them. To save, edit again first.'
    }`,
  refused:
    'Your text cannot be saved. Perhaps you may not write here any more. It is kept here: you can copy it.',
  tooLong: (limit) =>
    `Your text is kept here, but it is too long to be saved. ${
      limit === null ? '' : `The server accepts ${bytes(limit)}. `
    }Shorten it, or copy it.`,
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
  tookTheirs: 'You took the stored words. You can bring yours back until you type or leave this page.',
  bringBack: 'Bring mine back',
  drop: 'Drop my text',
}

const ja: DraftTexts = {
  status: {
    loading: '読み込み中',
    saved: '保存済み',
    dirty: '未保存',
    saving: '保存中',
    kept: '保存されていません',
    refused: '保存されていません',
    conflict: '保存されていません',
    unreadable: '読み取れません',
  },
  nothingSaved: '空の文書',
  savedAt: (time) => `${time}に保存`,
  readOnly: '閲覧のみ',
  kept: (isHeld) =>
    `最後に入力した部分がまだ保存されていません。この画面に残っています。その後、文書を変更した人はいません。${
      isHeld ? 'まもなく保存されます。' : 'もう一度編集すると保存されます。'
    }`,
  outdated:
    '最後に入力した部分がまだ保存されていません。この画面に残っています。その後、ほかの人が別の箇所を変更しました。もう一度編集すると、両方を合わせて保存します。',
  conflict: (isHeld) =>
    `ほかの人が同じ箇所を変更して保存したため、あなたの文章は保存されていません。どちらも残っています。${
      isHeld
        ? '見比べて、どちらを保存するか決めてください。'
        : '見比べることができます。保存するには、もう一度編集してください。'
    }`,
  refused:
    '文章を保存できません。書き込みが許可されていない可能性があります。文章はこの画面に残っていますので、コピーできます。',
  tooLong: (limit) =>
    `文章はこの画面に残っていますが、長すぎて保存できません。${
      limit === null ? '' : `サーバーが受け付けるのは${bytes(limit)}までです。`
    }短くするか、コピーしてください。`,
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
  tookTheirs:
    '保存されている文章を採用しました。次に入力するか、このページを離れるまでは、自分の文章に戻せます。',
  bringBack: '自分の文章を元に戻す',
  drop: '自分の文章を破棄',
}

function bytes(limit: number): string {
  return limit < 1_000_000
    ? `${Math.floor(limit / 1000)}\u00a0kB`
    : `${Math.floor(limit / 100_000) / 10}\u00a0MB`
}

export const draftTexts: Readonly<Record<'en' | 'ja', DraftTexts>> = { en, ja }
