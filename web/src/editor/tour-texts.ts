import type { Lang } from '../ui/preferences.ts'

export interface TourTexts {
  readonly title: string
  readonly done: string
  readonly open: string
  readonly showTwo: string
  readonly showOne: string
  readonly openWindow: string
  /** `isGuest`: the other side is another person, not another window of the same one. */
  readonly edit: (isGuest: boolean) => string
  readonly plug: string
  /** The plug of the side that edits is pulled. */
  readonly cutOff: (isGuest: boolean) => string
  /** The other side edits now. */
  readonly taken: string
  /** The late text was not saved over the other one. */
  readonly refused: (isGuest: boolean) => string
  /** Both texts are in the document. */
  readonly merged: string
  readonly pull: string
  readonly plugIn: string
  /** The second person of the split view. */
  readonly guestName: string
  /** Names the frame of the second person. */
  readonly guestFrame: string
  readonly you: string
}

const en: TourTexts = {
  title: 'One person writes, the others follow. See it in three steps.',
  done: '(done)',
  open: 'Put a second person beside you.',
  showTwo: 'Show two people',
  showOne: 'Show one person',
  openWindow: 'Open a second window',
  edit: (isGuest) =>
    isGuest
      ? 'Press Edit on one side, and type. On the other side, ask for the document. Then hand it over.'
      : 'Press Edit in one window, and type: the other one follows. There, press Edit here.',
  plug: 'Pull the plug on the side that edits.',
  cutOff: (isGuest) =>
    `The side that edits is cut off. Change a line there. On the other side, press ${isGuest ? 'Take over' : 'Edit here'}.`,
  taken: 'The other side has the document now. Change another line there, then plug in again.',
  refused: (isGuest) =>
    isGuest
      ? 'Nothing was overwritten. Stop editing, and edit again on the side that came back: both texts become one.'
      : 'Nothing was overwritten. Press Edit here in the window that came back: both texts become one.',
  merged: 'No word is lost. Changes merge by themselves. Only where both changed the same words, you decide.',
  pull: 'Pull the plug',
  plugIn: 'Plug in again',
  guestName: 'Aoi',
  guestFrame: 'The second person',
  you: 'you',
}

const ja: TourTexts = {
  title: '書けるのは一人、ほかの人は見守る。三つの手順で確かめてみましょう。',
  done: '（完了）',
  open: 'となりに、もう一人の画面を並べます。',
  showTwo: '二人で試す',
  showOne: '一人に戻す',
  openWindow: '別のウィンドウを開く',
  edit: (isGuest) =>
    isGuest
      ? '片方で「編集する」を押して入力します。もう片方で「交代をお願い」を押したら、「交代する」で渡しましょう。'
      : '片方で「編集する」を押して入力すると、もう片方にも届きます。そちらで「ここで編集する」を押してみましょう。',
  plug: '編集している側の接続を切ってみましょう。',
  cutOff: (isGuest) =>
    `編集していた側の接続が切れました。そのまま一行書きかえて、もう片方で「${isGuest ? '引き継ぐ' : 'ここで編集する'}」を押します。`,
  taken: 'もう片方に編集が移りました。そちらでも別の行を書きかえてから、接続を戻します。',
  refused: (isGuest) =>
    isGuest
      ? '何も上書きされていません。もう片方で編集を終え、接続を戻した側でもう一度編集すると、両方の変更がまとまります。'
      : '何も上書きされていません。接続を戻したウィンドウで「ここで編集する」を押すと、両方の変更がまとまります。',
  merged:
    '書いた言葉はすべて残っています。変更は自動でまとまり、同じところを書きかえたときだけ、見比べて選びます。',
  pull: '接続を切る',
  plugIn: '接続を戻す',
  guestName: 'あおい',
  guestFrame: 'もう一人の画面',
  you: 'あなた',
}

export const tourTexts: Readonly<Record<Lang, TourTexts>> = { en, ja }
