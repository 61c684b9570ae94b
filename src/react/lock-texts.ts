import type { Demand, HandoffRequest, Participant } from '../client/index.ts'
import type { LeaseErrorCode } from '../core/index.ts'
import { SECONDS_SHOWN } from './options.ts'

/** Who is editing, for the texts. */
export interface Who {
  /** `null`: that person gave no name. */
  readonly name: string | null
  /** When they started to edit: the time of day, with the date if it was not today. */
  readonly since: string
}

export interface LockTexts {
  readonly label: string
  /** Names the list of the people in view. */
  readonly people: string
  /** What one of them does. */
  readonly person: (person: Participant) => string
  readonly morePeople: (count: number) => string
  readonly nobody: string
  readonly asking: string
  /** `waiting`: how many others wait. `next`: the name of the first of them, if known. */
  readonly editing: (waiting: number, next?: string | null) => string
  /** Still editing, but the server does not answer. */
  readonly troubled: string
  /** `isEditing`: this tab still has the lock. */
  readonly signedOut: (isEditing: boolean) => string
  readonly readOnly: (who: Who) => string
  /** `ahead`: how many waiters are ahead; `null`: not known yet. */
  readonly waiting: (who: Who | null, ahead: number | null) => string
  /** `ahead`: how many waiters are ahead; `null`: not known yet. */
  readonly place: (ahead: number | null) => string
  /** This person edits in another tab. */
  readonly ownTab: string
  /** This tab asks for the lock of the person's other tab. */
  readonly movingHere: string
  /** Another tab of this person gets the lock. */
  readonly movingAway: string
  /** Somebody asks for the lock. `passed`: those who are in line before that person, by name. */
  readonly requested: (name: string | null, passed: readonly (string | null)[]) => string
  readonly takenOver: (name: string | null, passed: readonly (string | null)[]) => string
  /** Somebody behind this person in line, or not in line, has asked for the lock. */
  readonly passedBy: (name: string | null) => string
  /** This person has asked the one who wants the lock for more time. */
  readonly postponed: (name: string | null) => string
  /** The question to a holder who has not typed for a while. `next`: who wants the lock, if known. */
  readonly stillEditing: (next: string | null) => string
  /** The lock was handed over, because this person was away. */
  readonly wasIdle: string
  /** The title of the page while a holder who has not typed for a while is asked. */
  readonly titleIdle: string
  /** The title of the page while somebody asks for the lock or takes it over. */
  readonly title: (name: string | null, kind: HandoffRequest['kind']) => string
  /** The question before a takeover. */
  readonly confirmTakeover: (name: string | null) => string
  /** The progress of a takeover, or of a request for a handoff. */
  readonly demand: Readonly<Record<Demand, (name: string | null) => string>>
  /** The server does not let this person do that. */
  readonly mayNot: Readonly<Record<'takeover' | 'request', string>>
  readonly lost: string
  /** The lock was lost, and there is no connection. */
  readonly lostOffline: string
  /** Before the other words, while the page has a text that is not saved. */
  readonly kept: string
  readonly lostTo: (who: Who) => string
  /** `reason` is technical and in English, for the person who runs the page. `code` says what the reader can do. */
  readonly failed: (reason: string, code?: LeaseErrorCode) => string
  readonly offline: string
  readonly connecting: string
  readonly secondsLeft: (seconds: number) => string
  readonly edit: string
  /** Edit in this tab instead of the person's other one. */
  readonly editHere: string
  readonly editAgain: string
  readonly stop: string
  readonly wait: string
  readonly leaveLine: string
  readonly ask: string
  readonly takeover: string
  readonly handoff: string
  readonly keep: string
  /** Asks for two more minutes. */
  readonly postpone: string
  readonly cancel: string
}

const en: LockTexts = {
  label: 'Who is editing',
  people: 'People in view',
  person: ({ name, role, place, isMe }) => {
    const what =
      role === 'editing' ? 'editing' : role === 'waiting' ? `number ${(place ?? 0) + 1} in line` : 'reading'
    return isMe ? `You are ${what}` : `${name ?? 'Somebody'} is ${what}`
  },
  morePeople: (count) => `+${count}`,
  nobody: 'Nobody is editing.',
  asking: 'Asking for the document.',
  editing: (waiting, next) => {
    if (waiting === 0) return 'You are editing. Others can read.'
    const others = waiting === 1 ? '' : ` and ${waiting - 1} more`
    if (next) return `You are editing. In line: ${next}${others}.`
    return `You are editing. In line: ${waiting === 1 ? '1 person' : `${waiting} people`}.`
  },
  troubled: 'Connection trouble. You can keep typing. We will retry.',
  signedOut: (isEditing) =>
    isEditing
      ? 'You are signed out. Sign in before the time is up to continue editing.'
      : 'You are signed out. Sign in to edit.',
  readOnly: ({ name, since }) =>
    `${name ?? 'Somebody'} is editing, since ${since}. Wait in line or ask for it.`,
  waiting: (who, ahead) =>
    `${who ? `${who.name ?? 'Somebody'} is editing, since ${who.since}.` : 'The document is about to be free.'} ${en.place(ahead)}`,
  place: (ahead) =>
    ahead === null ? 'You are in line.' : ahead === 0 ? 'You are next.' : `${ahead} before you.`,
  ownTab: 'You are editing this in another tab.',
  movingHere: 'Your other tab has a moment to save. Then you can edit here.',
  movingAway: 'You continue in another tab. Saving.',
  requested: (name, passed) => `${name ?? 'Somebody'} would like to edit.${inLineBefore(passed)} Hand over?`,
  takenOver: (name, passed) =>
    `${name ?? 'Somebody'} is taking over.${inLineBefore(passed)} Hand over before the time is up.`,
  passedBy: (name) => `${name ?? 'Somebody'} has asked to edit before you.`,
  postponed: (name) => `You are editing. ${name ?? 'Somebody'} waits for you to hand over.`,
  stillEditing: (next) => `Still editing? ${next ?? 'Somebody'} would like to. Your text will be saved.`,
  wasIdle: 'You were away, so you have handed over.',
  titleIdle: '● Still editing?',
  title: (name, kind) =>
    `● ${name ?? 'Somebody'} ${kind === 'takeover' ? 'is taking over' : 'asks for'} this document`,
  confirmTakeover: (name) =>
    `Take over from ${name ?? 'the other person'}? They get a few seconds to save, and then only you can edit.`,
  demand: {
    asking: (name) => `You have asked ${name ?? 'the other'} to hand over.`,
    postponed: (name) => `${name ?? 'The other'} has asked you for a little more time.`,
    'taking-over': (name) => `Taking over. ${name ?? 'The other'} has a moment to save.`,
    declined: (name) => `${name ?? 'The other'} would like to go on editing.`,
    unanswered: (name) => `${name ?? 'The other'} has not answered.`,
    failed: () => 'That did not work. Try again, or wait in line.',
  },
  mayNot: { takeover: 'You may not take over.', request: 'You may not ask for it.' },
  lost: 'You are no longer editing. Edit again to continue.',
  lostOffline: 'No connection. You are no longer editing. Edit again when it is back.',
  kept: 'Your text is kept.',
  lostTo: ({ name, since }) =>
    `${name ?? 'Somebody'} is editing now, since ${since}. Wait in line to continue.`,
  failed: (_, code) =>
    code === 'store-unavailable' || code?.startsWith('too-many')
      ? 'The server does not answer now. Try again in a moment.'
      : 'You cannot edit this document. Reload the page; if that does not help, ask the person who runs it.',
  offline: 'No connection. Trying again.',
  connecting: 'Looking who is editing.',
  secondsLeft: (seconds) =>
    seconds < SECONDS_SHOWN ? `${seconds} s left` : `${Math.round(seconds / 60)} min left`,
  edit: 'Edit',
  editHere: 'Edit here',
  editAgain: 'Edit again',
  stop: 'Stop editing',
  wait: 'Wait in line',
  leaveLine: 'Leave the line',
  ask: 'Ask for it',
  takeover: 'Take over',
  handoff: 'Hand over',
  keep: 'Keep editing',
  postpone: 'Give me 2 minutes',
  cancel: 'Cancel',
}

const ja: LockTexts = {
  label: '編集している人',
  people: 'いまここにいる人',
  person: ({ name, role, place, isMe }) => {
    const what =
      role === 'editing' ? '編集中' : role === 'waiting' ? `${(place ?? 0) + 1}番目に待っています` : '閲覧中'
    return `${isMe ? 'あなた' : person(name)}：${what}`
  },
  morePeople: (count) => `ほか${count}人`,
  nobody: 'いま編集している人はいません。',
  asking: '編集できるか確認しています。',
  editing: (waiting, next) => {
    if (waiting === 0) return 'あなたが編集中です。ほかの人は閲覧できます。'
    if (!next) return `あなたが編集中です。${waiting}人が順番を待っています。`
    const others = waiting === 1 ? '' : `、ほか${waiting - 1}人`
    return `あなたが編集中です。${next}さん${others}が順番を待っています。`
  },
  troubled: '接続が不安定です。入力は続けられます。自動でつなぎ直します。',
  signedOut: (isEditing) =>
    isEditing
      ? 'ログアウトされました。編集を続けるには、時間内にログインし直してください。'
      : 'ログアウトされています。編集するにはログインしてください。',
  readOnly: ({ name, since }) =>
    `${since}から${person(name)}が編集しています。順番を待つか、交代をお願いしてください。`,
  waiting: (who, ahead) =>
    `${who ? `${who.since}から${person(who.name)}が編集しています。` : 'まもなく編集できます。'}${ja.place(ahead)}`,
  place: (ahead) =>
    ahead === null ? '順番を待っています。' : ahead === 0 ? '次はあなたの番です。' : `あと${ahead}人です。`,
  ownTab: '別のタブであなたが編集しています。',
  movingHere: '別のタブの内容を保存しています。まもなくここで編集できます。',
  movingAway: '保存して、別のタブで編集を続けます。',
  requested: (name, passed) => `${person(name)}が編集したいそうです。${waitingBefore(passed)}交代しますか。`,
  takenOver: (name, passed) =>
    `${person(name)}が編集を引き継ごうとしています。${waitingBefore(passed)}時間内に交代してください。`,
  postponed: (name) => `あなたが編集中です。${person(name)}が交代を待っています。`,
  stillEditing: (next) =>
    `まだ編集していますか。${person(next)}が編集したいそうです。内容は保存してから交代します。`,
  wasIdle: 'しばらく操作がなかったため、交代しました。',
  titleIdle: '● まだ編集していますか',
  passedBy: (name) => `${person(name)}が、あなたより先に編集したいとお願いしています。`,
  title: (name, kind) =>
    `● ${person(name)}が${kind === 'takeover' ? 'この文書を引き継ごうとしています' : '編集の交代を希望しています'}`,
  confirmTakeover: (name) =>
    `${person(name)}から編集を引き継ぎますか。${person(name)}が保存できるように数秒待ってから、あなたに編集が移ります。`,
  demand: {
    asking: (name) => `${person(name)}に交代をお願いしました。`,
    postponed: (name) => `${person(name)}はもう少し時間がほしいそうです。`,
    'taking-over': (name) => `引き継いでいます。${person(name)}が保存するまで少しお待ちください。`,
    declined: (name) => `${person(name)}はもう少し編集を続けたいそうです。`,
    unanswered: (name) => `${person(name)}から返事がありませんでした。`,
    failed: () => 'うまくいきませんでした。もう一度試すか、順番を待ってください。',
  },
  mayNot: { takeover: '引き継ぐ権限がありません。', request: '交代をお願いする権限がありません。' },
  lost: '編集が終了しました。続けるには、もう一度編集してください。',
  lostOffline: '接続が切れ、編集が終了しました。つながったら、もう一度編集してください。',
  kept: '文章は残っています。',
  lostTo: ({ name, since }) =>
    `${since}から${person(name)}が編集しています。続けるには、順番を待ってください。`,
  failed: (_, code) =>
    code === 'store-unavailable' || code?.startsWith('too-many')
      ? 'いまサーバーにつながりません。少し待ってからもう一度お試しください。'
      : 'この文書は編集できません。ページを再読み込みしても直らないときは、管理者にお問い合わせください。',
  offline: '接続が切れています。つなぎ直しています。',
  connecting: '編集している人を確認しています。',
  secondsLeft: (seconds) =>
    seconds < SECONDS_SHOWN ? `残り${seconds}秒` : `残り${Math.round(seconds / 60)}分`,
  edit: '編集する',
  editHere: 'ここで編集する',
  editAgain: 'もう一度編集する',
  stop: '編集を終える',
  wait: '順番を待つ',
  leaveLine: '待つのをやめる',
  ask: '交代をお願い',
  takeover: '引き継ぐ',
  handoff: '交代する',
  keep: '編集を続ける',
  postpone: 'あと2分待ってもらう',
  cancel: 'やめる',
}

/** Begins with a space if it says something. */
function inLineBefore(passed: readonly (string | null)[]): string {
  const [first, ...others] = passed
  if (first === undefined) return ''
  const more = others.length === 0 ? '' : ` and ${others.length} more`
  return ` In line before them: ${first ?? 'somebody'}${more}.`
}

function waitingBefore(passed: readonly (string | null)[]): string {
  const [first, ...others] = passed
  if (first === undefined) return ''
  return `先に${person(first)}${others.length === 0 ? '' : `ほか${others.length}人`}が順番を待っています。`
}

function person(name: string | null): string {
  return name === null ? 'ほかの人' : `${name}さん`
}

export const lockTexts: Readonly<Record<'en' | 'ja', LockTexts>> = { en, ja }
