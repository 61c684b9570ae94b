import type { AutoSaveState } from '../autosave/index.ts'

/** The messages about a save. Every state has exactly one. */
export type AutoSaveMessage =
  | 'nothing'
  | 'saved'
  | 'fallback'
  | 'newer'
  | 'unsaved'
  | 'saving'
  | 'opening'
  | 'waiting'
  | 'retrying'
  | 'held'
  | 'asking'
  | 'lost'
  | 'conflict'
  | 'unsupported'
  | 'full'
  | 'denied'
  | 'failed'
  | 'skipped'
  | 'off'

export interface AutoSaveTexts extends Readonly<Record<AutoSaveMessage, AutoSaveText>> {
  readonly retry: string
  readonly takeover: string
}

export interface AutoSaveText {
  /** A few words. `time`: of the last save, with its date unless it was made today. */
  readonly label: (time: string) => string
  /** One or two sentences, with the next step. */
  readonly detail: string
}

export function messageOf(state: AutoSaveState): AutoSaveMessage {
  const { phase, unsaved, savedAt, backend, savedBy, readOnly, takingOver, stale, error } = state
  switch (phase) {
    case 'disabled':
      return 'off'
    case 'idle':
      if (stale) return 'newer'
      if (savedAt === null) return 'nothing'
      return (backend ?? savedBy) === 'fallback' ? 'fallback' : 'saved'
    case 'debouncing':
      return 'unsaved'
    case 'awaiting-lock':
      return unsaved ? 'waiting' : 'opening'
    case 'writing':
    case 'committing':
    case 'gc':
      return 'saving'
    case 'backoff':
      return 'retrying'
    case 'read-only':
      return takingOver ? 'asking' : (readOnly ?? 'held')
    case 'error':
      if (error?.code === 'quota-exceeded') return 'full'
      return error?.code === 'not-allowed' ? 'denied' : 'failed'
  }
}

const say = (label: string | ((time: string) => string), detail: string): AutoSaveText => ({
  label: typeof label === 'string' ? () => label : label,
  detail,
})

const en: AutoSaveTexts = {
  nothing: say('No changes', 'Nothing has been changed yet. Your edits are saved automatically.'),
  saved: say((time) => `Saved ${time}`, 'Everything is saved on this device.'),
  fallback: say(
    (time) => `Saved ${time}, basic lock`,
    'Everything is saved. This browser has no locks, so a file prevents other tabs from writing.',
  ),
  newer: say(
    'Newer version found',
    'Another tab has left a newer version. Load it before you edit. Nothing is saved over it until you decide.',
  ),
  unsaved: say('Unsaved changes', 'Your changes are saved when you stop typing.'),
  saving: say('Saving', 'Your changes are being written.'),
  opening: say('Opening', 'Looking whether another tab is editing.'),
  waiting: say('Waiting to save', 'Another tab may be writing. Your changes are kept in this tab.'),
  retrying: say('Not saved, trying again', 'The last attempt failed. Your changes are kept in this tab.'),
  held: say(
    'Another tab is editing',
    'You can only read here. If you edit here instead, the other tab saves first and becomes read-only. What you typed here is kept.',
  ),
  asking: say(
    'Asking the other tab',
    'The other tab saves its changes first. If it does not answer, you can edit in five seconds.',
  ),
  lost: say(
    'Another tab took over',
    'You can only read here now. What you typed here is kept. Edit here again at any time.',
  ),
  conflict: say(
    'Newer in another tab',
    'Another tab has left a newer version. Load it or keep yours. You can only read until then.',
  ),
  unsupported: say(
    'Read-only, no lock',
    'This browser cannot prevent two tabs from writing at once, so you can only read here.',
  ),
  full: say('Not saved, no space left', 'There is no space left to save. Free some space, then retry.'),
  denied: say(
    'Not saved, no access',
    'The browser does not allow access to the folder. Allow it, then retry.',
  ),
  failed: say('Not saved', 'Saving failed. Your changes are kept in this tab.'),
  skipped: say(
    'Newest save damaged',
    'The newest save cannot be read, so an older version was loaded. The damaged file is kept.',
  ),
  off: say('Autosave is off', 'Changes are not saved automatically.'),
  retry: 'Retry',
  takeover: 'Edit here',
}

const ja: AutoSaveTexts = {
  nothing: say('変更なし', 'まだ変更はありません。編集すると自動で保存されます。'),
  saved: say((time) => `${time} に保存`, 'すべてこの端末に保存されています。'),
  fallback: say(
    (time) => `${time} に保存（簡易ロック）`,
    '保存されています。このブラウザーにはロック機能がないため、ファイルで他のタブの書き込みを防いでいます。',
  ),
  newer: say(
    '新しい版があります',
    '別のタブが新しい版を残しています。編集する前に読み込んでください。選ぶまで上書きしません。',
  ),
  unsaved: say('未保存の変更', '入力が止まると自動で保存します。'),
  saving: say('保存中', '変更を書き込んでいます。'),
  opening: say('開いています', '別のタブで編集中かどうかを確認しています。'),
  waiting: say('保存の順番待ち', '別のタブが書き込み中かもしれません。変更はこのタブに残っています。'),
  retrying: say('未保存、再試行中', '保存に失敗しました。変更はこのタブに残っています。'),
  held: say(
    '別のタブで編集中',
    'ここでは閲覧のみできます。ここで編集すると、別のタブは保存してから閲覧のみになります。入力した内容は残っています。',
  ),
  asking: say(
    '別のタブに確認中',
    '別のタブが先に変更を保存します。応答がなければ、5 秒後にここで編集できます。',
  ),
  lost: say(
    '別のタブに移りました',
    '今は閲覧のみできます。入力した内容は残っています。いつでもここで編集を再開できます。',
  ),
  conflict: say(
    '別のタブに新しい版',
    '別のタブが新しい版を残しています。その内容を読み込むか、こちらを残すか選ぶまで、閲覧のみできます。',
  ),
  unsupported: say(
    '閲覧のみ（ロック不可）',
    'このブラウザーでは同時書き込みを防げないため、閲覧のみできます。',
  ),
  full: say('未保存（空き容量なし）', '保存できる容量がありません。空きを作ってから再試行してください。'),
  denied: say(
    '未保存（権限なし）',
    'フォルダーへのアクセスが許可されていません。許可してから再試行してください。',
  ),
  failed: say('未保存', '保存に失敗しました。変更はこのタブに残っています。'),
  skipped: say(
    '最新の保存が破損',
    '最新の保存を読み込めないため、以前の内容を開きました。破損したファイルは残してあります。',
  ),
  off: say('自動保存オフ', '変更は自動では保存されません。'),
  retry: '再試行',
  takeover: 'ここで編集',
}

export const autosaveTexts: Readonly<Record<'en' | 'ja', AutoSaveTexts>> = { en, ja }
