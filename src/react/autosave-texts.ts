import type { AutoSaveSnapshot } from '../autosave/index.ts'

/** The messages about a save. Every state has exactly one. */
export type AutoSaveMessage =
  | 'nothing'
  | 'saved'
  | 'fallback'
  | 'unsaved'
  | 'saving'
  | 'waiting'
  | 'retrying'
  | 'held'
  | 'lost'
  | 'conflict'
  | 'unsupported'
  | 'full'
  | 'denied'
  | 'failed'
  | 'off'

export interface AutoSaveTexts extends Readonly<Record<AutoSaveMessage, AutoSaveText>> {
  readonly retry: string
}

export interface AutoSaveText {
  /** A few words. `time`: of the last save. */
  readonly label: (time: string) => string
  /** One or two sentences, with the next step. */
  readonly detail: string
}

export function messageOf(snapshot: AutoSaveSnapshot): AutoSaveMessage {
  const { phase, savedAt, backend, savedBy, readOnly, error } = snapshot
  switch (phase) {
    case 'disabled':
      return 'off'
    case 'idle':
      if (savedAt === null) return 'nothing'
      return (backend ?? savedBy) === 'fallback' ? 'fallback' : 'saved'
    case 'debouncing':
      return 'unsaved'
    case 'awaiting-lock':
      return 'waiting'
    case 'writing':
    case 'committing':
    case 'gc':
      return 'saving'
    case 'backoff':
      return 'retrying'
    case 'read-only':
      return readOnly ?? 'held'
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
  unsaved: say('Unsaved changes', 'Your changes are saved when you stop typing.'),
  saving: say('Saving', 'Your changes are being written.'),
  waiting: say('Waiting to save', 'Another tab may be writing. Your changes are kept in this tab.'),
  retrying: say('Not saved, trying again', 'The last attempt failed. Your changes are kept in this tab.'),
  held: say(
    'Read-only, open in another tab',
    'Another tab is editing. Close it to edit here. What you typed here is kept.',
  ),
  lost: say(
    'Read-only, another tab took over',
    'Another tab is editing now. What you typed here is kept. Close that tab to edit here again.',
  ),
  conflict: say(
    'Read-only, saved elsewhere',
    'Another tab saved after this one was opened. Load its version or keep yours.',
  ),
  unsupported: say(
    'Read-only, no lock available',
    'This browser cannot prevent two tabs from writing at once.',
  ),
  full: say('Not saved, no space left', 'There is no space left to save. Free some space, then retry.'),
  denied: say(
    'Not saved, no access',
    'The browser does not allow access to the folder. Allow it, then retry.',
  ),
  failed: say('Not saved', 'Saving failed. Your changes are kept in this tab.'),
  off: say('Autosave is off', 'Changes are not saved automatically.'),
  retry: 'Retry',
}

const ja: AutoSaveTexts = {
  nothing: say('変更なし', 'まだ変更はありません。編集すると自動で保存されます。'),
  saved: say((time) => `${time} に保存`, 'すべてこの端末に保存されています。'),
  fallback: say(
    (time) => `${time} に保存（簡易ロック）`,
    '保存されています。このブラウザーにはロック機能がないため、ファイルで他のタブの書き込みを防いでいます。',
  ),
  unsaved: say('未保存の変更', '入力が止まると自動で保存します。'),
  saving: say('保存中', '変更を書き込んでいます。'),
  waiting: say('保存の順番待ち', '別のタブが書き込み中かもしれません。変更はこのタブに残っています。'),
  retrying: say('未保存、再試行中', '保存に失敗しました。変更はこのタブに残っています。'),
  held: say(
    '閲覧のみ（別のタブで編集中）',
    '別のタブで編集しています。そのタブを閉じるとここで編集できます。入力した内容は残っています。',
  ),
  lost: say(
    '閲覧のみ（別のタブに移りました）',
    '編集は別のタブに移りました。入力した内容は残っています。そのタブを閉じると再び編集できます。',
  ),
  conflict: say(
    '閲覧のみ（別の保存があります）',
    'このタブを開いたあとに別のタブが保存しました。その内容を読み込むか、こちらを残すか選んでください。',
  ),
  unsupported: say('閲覧のみ（ロック不可）', 'このブラウザーでは同時書き込みを防げません。'),
  full: say('未保存（空き容量なし）', '保存できる容量がありません。空きを作ってから再試行してください。'),
  denied: say(
    '未保存（権限なし）',
    'フォルダーへのアクセスが許可されていません。許可してから再試行してください。',
  ),
  failed: say('未保存', '保存に失敗しました。変更はこのタブに残っています。'),
  off: say('自動保存オフ', '変更は自動では保存されません。'),
  retry: '再試行',
}

export const autosaveTexts: Readonly<Record<'en' | 'ja', AutoSaveTexts>> = { en, ja }
