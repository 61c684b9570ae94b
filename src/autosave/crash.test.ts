import { describe, expect, it } from 'vitest'
import { editorBed } from '../../test/autosave/editor-bed.ts'
import { FakeDisk } from '../../test/autosave/fake-disk.ts'

describe.each([
  ['a disk that replaces files at once', false],
  ['a disk that can leave files incomplete', true],
])('a page that crashes during a save, on %s', (_, tearing) => {
  it('leaves the last complete save readable at every step', async () => {
    const { disk, done } = await saveTwice(tearing, Infinity)
    expect(await recovered(disk)).toBe('second')
    const found = new Set<string | null>()
    for (let step = done.first; step <= done.second + 1; step++) {
      const cut = await saveTwice(tearing, step)
      found.add(await recovered(cut.disk))
    }
    expect(found).toEqual(new Set(['first', 'second']))
  })

  it('can save again after a crash at every step', async () => {
    const { done } = await saveTwice(tearing, Infinity)
    for (let step = 1; step <= done.second; step++) {
      const { disk } = await saveTwice(tearing, step)
      const bed = editorBed(disk.shared())
      const editor = bed.openEditor()
      await editor.recover()
      await bed.save(editor, 'third')
      expect(bed.saved()).toBe('third')
      expect(await recovered(bed.disk)).toBe('third')
    }
  })
})

async function saveTwice(tearing: boolean, diesAt: number) {
  const disk = new FakeDisk({ tearing })
  disk.diesAt = diesAt
  const { clock, openEditor } = editorBed(disk)
  const editor = openEditor()
  const save = async (title: string) => {
    editor.edit(title)
    void editor.autosave.flush()
    await clock.advance(10)
    return disk.steps
  }
  return { disk, done: { first: await save('first'), second: await save('second') } }
}

async function recovered(disk: FakeDisk): Promise<string | null> {
  return editorBed(disk.shared()).openEditor().recover()
}
