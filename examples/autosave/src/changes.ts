import type { Scene, Story } from './story.ts'
import type { Texts } from './texts.ts'

const MAX_SHOWN = 3
const MAX_LENGTH = 40

/** What changed from one version to the next, in a few words. */
export function changesBetween(before: Story | undefined, after: Story, words: Texts): string {
  if (!before) return words.firstVersion
  const changes = [
    ...(before.title === after.title ? [] : [words.titleChanged(shorten(after.title))]),
    ...after.scenes.flatMap((scene, index) => sceneChange(find(before, scene), scene, index + 1, words)),
    ...before.scenes.flatMap((scene, index) => (find(after, scene) ? [] : [words.sceneRemoved(index + 1)])),
    ...(isReordered(before, after) ? [words.reordered] : []),
  ]
  const hidden = changes.length - MAX_SHOWN
  const shown = changes.slice(0, MAX_SHOWN)
  return [...shown, ...(hidden > 0 ? [words.andMore(hidden)] : [])].join(' · ') || words.noChange
}

function sceneChange(before: Scene | undefined, after: Scene, number: number, words: Texts): string[] {
  if (!before) return [words.sceneAdded(number)]
  const changed = (['place', 'text'] as const).find((field) => before[field] !== after[field])
  return changed ? [words.sceneChanged(number, shorten(after[changed]))] : []
}

function find({ scenes }: Story, { id }: Scene): Scene | undefined {
  return scenes.find((scene) => scene.id === id)
}

function isReordered(before: Story, after: Story): boolean {
  const order = (story: Story, other: Story) =>
    story.scenes.flatMap((scene) => (find(other, scene) ? scene.id : [])).join()
  return order(before, after) !== order(after, before)
}

function shorten(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line
}
