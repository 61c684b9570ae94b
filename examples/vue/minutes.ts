import { computed, defineComponent, ref, watch } from 'vue'
import { useDocumentLock } from './use-document-lock.ts'

/** What was typed, and in which turn. Each grant of the lock has its own token. */
interface Typed {
  readonly text: string
  readonly token: number | null
  readonly isSaved: boolean
}

export const Minutes = defineComponent({
  props: { name: { type: String, required: true } },

  setup({ name }) {
    const { lock, state, saved } = useDocumentLock({ roomId: 'minutes-42', name })
    const typed = ref<Typed | null>(null)
    const problem = ref('')

    watch(state, ({ held, token }) => {
      if (typed.value?.isSaved && !held) typed.value = null
      if (!typed.value || typed.value.token === token) return
      // Others may have saved since. It is not saved over their text, and not lost either.
      problem.value = `Not saved in your last turn: ${typed.value.text}`
      typed.value = null
    })

    const text = computed(() => typed.value?.text ?? String(saved.value.content ?? ''))
    const isWritable = computed(() => state.value.held && saved.value.isLoaded)
    const who = computed(() => {
      const { phase, held, holder, place } = state.value
      if (phase === 'troubled') return 'Connection trouble. You can keep typing.'
      if (held) return 'You are editing.'
      if (phase === 'waiting') return `You are in line, ${place ?? 0} before you.`
      if (phase === 'lost') return 'You are no longer editing.'
      return holder ? `${holder.name ?? 'Somebody'} is editing.` : 'Nobody is editing.'
    })

    function type(event: Event): void {
      const { value } = event.target as HTMLTextAreaElement
      typed.value = { text: value, token: state.value.token, isSaved: false }
    }

    /** Resolves with whether it is saved. */
    async function save(): Promise<boolean> {
      const sent = typed.value
      try {
        await lock.save(text.value)
        if (sent && typed.value === sent) typed.value = { ...sent, isSaved: true }
        problem.value = ''
        return true
      } catch (error) {
        problem.value = `Not saved: ${(error as Error).message}`
        return false
      }
    }

    async function stop(): Promise<void> {
      if (await save()) await lock.release()
    }

    const edit = () => lock.acquire({ wait: Infinity })
    return { state, text, isWritable, who, problem, type, save, stop, edit }
  },

  template: `
    <h1>The meeting</h1>
    <p role="status">{{ who }}</p>
    <label for="text">Minutes</label>
    <textarea id="text" rows="12" :readonly="!isWritable" :value="text" @input="type"></textarea>
    <p>
      <button type="button" :disabled="state.held || ['acquiring', 'waiting'].includes(state.phase)" @click="edit">Edit</button>
      <button type="button" :disabled="!isWritable" @click="save">Save</button>
      <button type="button" :disabled="!isWritable" @click="stop">Stop editing</button>
    </p>
    <p role="alert">{{ problem }}</p>
  `,
})
