import type { Lang } from '../ui/preferences.ts'

interface Step {
  readonly title: string
  readonly text: string
}

export interface TourTexts {
  readonly title: string
  readonly done: string
  readonly open: Step
  readonly openWindow: string
  readonly edit: Step
  /** The text is for the window that edits. */
  readonly plug: Step
  readonly pull: string
  readonly plugIn: string
  /** The plug is pulled, and this window still has the document. */
  readonly cutOff: string
  /** The plug is pulled, and this window has lost the document. */
  readonly lost: string
  /** The late save was refused. */
  readonly refused: string
  /** For the window that does not edit. */
  readonly inTheOther: string
}

const en: TourTexts = {
  title: 'One window edits, the others follow. See it in three steps.',
  done: '(done)',
  open: {
    title: 'Open a second window',
    text: 'Put it beside this one. Both show the same document.',
  },
  openWindow: 'Open a second window',
  edit: {
    title: 'Edit, then hand over',
    text: 'Press Edit in one window and type: the other one follows. There, press Edit here: it has the document at once, with every word.',
  },
  plug: {
    title: 'Pull the plug',
    text: 'Cut this window off while it edits. Nothing it sends arrives any more, so its time runs out.',
  },
  pull: 'Pull the plug',
  plugIn: 'Plug in again',
  cutOff: 'This window is cut off. Type something here, and wait until its time is up.',
  lost: 'The time is up. Edit in the other window, and type there. Then plug this one in again.',
  refused: 'The late save was refused, so nothing was overwritten. Both texts are kept: compare them below.',
  inTheOther: 'Do this in the window that edits. It has this button, too.',
}

const ja: TourTexts = {
  title: '編集できるのは一つのウィンドウだけ。三つの手順で確かめてみましょう。',
  done: '（完了）',
  open: {
    title: 'もう一つウィンドウを開く',
    text: 'このウィンドウの横に並べてください。どちらにも同じ文書が表示されます。',
  },
  openWindow: 'ウィンドウを開く',
  edit: {
    title: '編集して、交代する',
    text: '片方で「編集する」を押して入力すると、もう片方にも表示されます。もう片方で「ここで編集する」を押すと、すぐに交代します。入力した内容は残ります。',
  },
  plug: {
    title: '接続を切る',
    text: '編集中のこのウィンドウをサーバーから切り離します。何も届かなくなり、持ち時間が減っていきます。',
  },
  pull: '接続を切る',
  plugIn: '接続を戻す',
  cutOff: '接続が切れています。何か入力して、持ち時間がなくなるまでお待ちください。',
  lost: '持ち時間がなくなりました。もう片方のウィンドウで編集して何か入力し、それからこちらの接続を戻してください。',
  refused:
    '遅れて届いた保存は拒否され、何も上書きされませんでした。どちらの文章も残っています。下で見比べてください。',
  inTheOther: '編集中のウィンドウで行ってください。同じボタンがあります。',
}

export const tourTexts: Readonly<Record<Lang, TourTexts>> = { en, ja }
