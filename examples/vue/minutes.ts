import { computed, defineComponent } from 'vue'
import { STATUS, whoIsEditing } from '../words.ts'
import { useDocument } from './use-document.ts'

export const Minutes = defineComponent({
  props: { name: { type: String, required: true } },

  setup({ name }) {
    const { lock, lockState, draft, draftState } = useDocument('minutes-42', { name })
    const isAsking = computed(() => ['acquiring', 'waiting'].includes(lockState.value.phase))
    const mayDecide = computed(() => ['conflict', 'unreadable'].includes(draftState.value.status))
    const type = ({ target }: Event) => draft.edit((target as HTMLTextAreaElement).value)
    const edit = () => lock.acquire({ wait: Infinity })
    return { lock, lockState, draft, draftState, isAsking, mayDecide, type, edit, whoIsEditing, STATUS }
  },

  template: `
    <h1>The meeting</h1>
    <p role="status">{{ whoIsEditing(lockState) }}</p>
    <label for="text">Minutes</label>
    <textarea id="text" rows="12" :readonly="!draftState.isWritable" :value="draftState.content" @input="type"></textarea>
    <p role="status">{{ STATUS[draftState.status] }}</p>
    <div v-if="draftState.theirs !== null">
      <h2>Stored, with your other changes</h2>
      <pre>{{ draftState.theirs }}</pre>
    </div>
    <p>
      <button type="button" :disabled="lockState.held || isAsking" @click="edit">Edit</button>
      <button type="button" :disabled="!lockState.held" @click="lock.release()">Stop editing</button>
      <button v-if="lockState.held && mayDecide" type="button" @click="draft.takeMine()">Save mine</button>
      <button v-if="draftState.theirs !== null" type="button" @click="draft.takeTheirs()">Take theirs</button>
      <button v-if="draftState.dropped !== null" type="button" @click="draft.bringBack()">Bring mine back</button>
    </p>
  `,
})
