export type Language = 'en' | 'ja'

const en = {
  app: 'Storyboard',
  title: 'Title of the story',
  untitled: 'Untitled story',
  place: 'Where and when',
  text: 'What happens',
  scene: (n: number) => `Scene ${n}`,
  add: 'Add a scene',
  up: 'Move up',
  down: 'Move down',
  remove: 'Remove',
  empty: 'No scenes yet. Add the first one: it is saved while you type.',
  asking: 'Checking whether you can edit.',
  held: 'Another tab is editing this story. This one takes over when that tab closes.',
  lost: 'Another tab has taken over. What you typed is kept here.',
  denied:
    'The browser does not allow access to the folder. Allow it, then retry. What you typed is kept here.',
  unsupported: 'This browser cannot prevent two tabs from writing at once, so you can only read the story.',
  conflict: 'Another tab saved after this one was opened. Your version is kept here.',
  takeTheirs: 'Load the version of the other tab',
  keepMine: 'Keep mine',
  history: 'History',
  close: 'Close',
  loading: 'Checking the saved versions.',
  noHistory: 'Nothing has been saved yet.',
  unreadable: 'The saved versions cannot be read.',
  restore: 'Restore',
  current: 'Current',
  journal: 'Not saved',
  kilobytes: (n: string) => `${n} kB`,
  language: '日本語',
}

export type Texts = typeof en

const ja: Texts = {
  app: '絵コンテ',
  title: '作品名',
  untitled: '無題の作品',
  place: '場所と時間',
  text: '内容',
  scene: (n) => `シーン${n}`,
  add: 'シーンを追加',
  up: '上へ',
  down: '下へ',
  remove: '削除',
  empty: 'シーンはまだありません。追加すると、入力しながら自動で保存されます。',
  asking: '編集できるか確認しています。',
  held: '別のタブで編集中です。そのタブを閉じると、ここで編集できます。',
  lost: '編集は別のタブに移りました。入力した内容はここに残っています。',
  denied:
    'フォルダーへのアクセスが許可されていません。許可してから再試行してください。入力した内容は残っています。',
  unsupported: 'このブラウザーでは同時書き込みを防げないため、閲覧のみできます。',
  conflict: 'このタブを開いたあとに、別のタブが保存しました。こちらの内容は残っています。',
  takeTheirs: '別のタブの内容を読み込む',
  keepMine: 'こちらを残す',
  history: '履歴',
  close: '閉じる',
  loading: '保存された内容を確認しています。',
  noHistory: 'まだ保存されていません。',
  unreadable: '保存された内容を読み込めません。',
  restore: '復元',
  current: '現在',
  journal: '未保存',
  kilobytes: (n) => `${n} kB`,
  language: 'English',
}

export const texts: Readonly<Record<Language, Texts>> = { en, ja }

export function preferredLanguage(): Language {
  return navigator.language.startsWith('ja') ? 'ja' : 'en'
}
