import { createAutoSave } from 'holdfast/autosave'

interface Story {
  title: string
}
let story: Story = { title: '' }
const autosave = createAutoSave({
  read: () => story,
  namespace: 'storyboard',
  debounce: '200ms',
  generations: 5,
})

const [latest] = await autosave.restore({ limit: 1 })
if (latest) story = await latest.load()

const input = document.body.appendChild(document.createElement('input'))
const status = document.body.appendChild(document.createElement('output'))
autosave.subscribe(() => {
  status.textContent = autosave.state.unsaved ? 'saving' : 'saved'
})
input.value = story.title
input.oninput = () => {
  story = { title: input.value }
  autosave.changed()
}
story = { title: 'The crossing' }
autosave.changed()
await autosave.flush()
console.log(autosave.state.phase)
const [saved] = await autosave.restore({ limit: 1 })
console.log((await saved?.load())?.title)
