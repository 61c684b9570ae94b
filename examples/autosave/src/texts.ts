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
  held: 'Another tab is editing this story. You see its last save here.',
  lost: 'Another tab has taken over.',
  denied: 'The browser does not allow access to the folder. Allow it, then retry.',
  unsaved: 'What you typed is not saved yet. It is kept here.',
  unsupported: 'This browser cannot prevent two tabs from writing at once, so you can only read the story.',
  conflict: 'Another tab has left a newer version. Yours is kept here.',
  takeTheirs: 'Load the version of the other tab',
  keepMine: 'Keep mine',
  history: 'History',
  close: 'Close',
  loading: 'Checking the saved versions.',
  noHistory: 'Nothing has been saved yet.',
  unreadable: 'The saved versions cannot be read.',
  restore: 'Restore',
  damaged: 'This version is damaged and cannot be restored.',
  firstVersion: 'First version',
  noChange: 'No change',
  titleChanged: (title: string) => (title ? `Title: ${title}` : 'Title removed'),
  sceneAdded: (n: number) => `Scene ${n} added`,
  sceneRemoved: (n: number) => `Scene ${n} removed`,
  sceneChanged: (n: number, part: string) => (part ? `Scene ${n}: ${part}` : `Scene ${n} emptied`),
  reordered: 'Scenes in another order',
  andMore: (n: number) => `and ${n} more`,
  current: 'Current',
  journal: 'Not saved',
  size: sizeOf,
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
  held: '別のタブで編集中です。ここには最後に保存された内容が表示されます。',
  lost: '編集は別のタブに移りました。',
  denied: 'フォルダーへのアクセスが許可されていません。許可してから再試行してください。',
  unsaved: '未保存の入力内容はここに残っています。',
  unsupported: 'このブラウザーでは同時書き込みを防げないため、閲覧のみできます。',
  conflict: '別のタブが新しい版を残しています。こちらの内容も残っています。',
  takeTheirs: '別のタブの内容を読み込む',
  keepMine: 'こちらを残す',
  history: '履歴',
  close: '閉じる',
  loading: '保存された内容を確認しています。',
  noHistory: 'まだ保存されていません。',
  unreadable: '保存された内容を読み込めません。',
  restore: '復元',
  damaged: 'この版は破損しているため復元できません。',
  firstVersion: '最初の版',
  noChange: '変更なし',
  titleChanged: (title) => (title ? `作品名：${title}` : '作品名を削除'),
  sceneAdded: (n) => `シーン${n}を追加`,
  sceneRemoved: (n) => `シーン${n}を削除`,
  sceneChanged: (n, part) => (part ? `シーン${n}：${part}` : `シーン${n}を空に`),
  reordered: 'シーンの順番を変更',
  andMore: (n) => `ほか${n}件`,
  current: '現在',
  journal: '未保存',
  size: sizeOf,
  language: 'English',
}

export const texts: Readonly<Record<Language, Texts>> = { en, ja }

export function preferredLanguage(): Language {
  return navigator.language.startsWith('ja') ? 'ja' : 'en'
}

function sizeOf(bytes: number): string {
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`
}
