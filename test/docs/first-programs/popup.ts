import { chromeContext, createSync } from 'holdfast/sync'

interface Item {
  label: string
  checked: boolean
}
interface Settings {
  theme: 'light' | 'dark'
}
const sync = createSync<Item, Settings>({ ...chromeContext(), defaults: { theme: 'light' } })
sync.subscribe((change) => {
  if (change.type === 'settings') document.body.dataset.theme = change.settings.theme
})
await sync.bootstrap()
await sync.setEntity('milk', { label: 'Milk', checked: false })
await sync.patchEntity('milk', { checked: true })
await sync.updateSettings({ theme: 'dark' })
console.log(sync.get('milk')?.checked, sync.settings.theme, document.body.dataset.theme)
for (const [id, item] of sync.state.entries) console.log(id, item.label)
