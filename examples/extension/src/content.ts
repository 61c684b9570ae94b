/** A runtime surface: the checklist on the page, redrawn row by row. */
import { createCard } from './card.ts'
import { ACTIONS, addItem, inScope, openSync, tick } from './model.ts'
import { explain, texts } from './texts.ts'

const sync = openSync()
const card = createCard({
  add: (label) => report(addItem(sync, label), texts.notAdded(label)),
  tick: (id, checked) => void report(tick(sync, id, checked), texts.notSaved),
  remove: (id) => void report(sync.removeEntity(id), texts.notSaved),
  openOptions: () => void chrome.runtime.sendMessage({ action: ACTIONS.openOptions }),
})
let isCountDue = false

sync.subscribe((change) => {
  if (change.type === 'entity') card.drawRow(change.id, change.entity)
  if (change.type === 'removed') card.removeRow(change.id)
  if (change.type === 'cleared') card.removeAllRows()
  if (change.type === 'status') card.drawStatus(change.status)
  drawFrame()
  drawCountSoon()
})
card.drawStatus(sync.status)
void report(sync.bootstrap(), texts.unreadable)

function drawFrame(): void {
  const isLoaded = sync.status !== 'loading'
  card.show(isLoaded && inScope(sync.settings, location.hostname), sync.settings.themeToken)
}

/** Once for all changes of a frame. */
function drawCountSoon(): void {
  if (isCountDue) return
  isCountDue = true
  requestAnimationFrame(() => {
    isCountDue = false
    const { entries } = sync.state
    card.drawCount(entries.filter(([, { checked }]) => !checked).length, entries.length)
  })
}

/** If it fails, the sync has already put back what was shown. This tells the user why. */
async function report(work: Promise<void>, failed: string): Promise<boolean> {
  card.drawFailure('')
  try {
    await work
    return true
  } catch (error) {
    if (sync.status !== 'invalidated') card.drawFailure(explain(failed, error))
    return false
  }
}
