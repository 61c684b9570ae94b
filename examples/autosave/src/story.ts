export interface Scene {
  readonly id: string
  readonly place: string
  readonly text: string
}

export interface Story {
  readonly title: string
  readonly scenes: readonly Scene[]
}

export const emptyStory: Story = { title: '', scenes: [] }

export type Edit =
  | { readonly type: 'restore'; readonly story: Story }
  | { readonly type: 'title'; readonly title: string }
  | { readonly type: 'add'; readonly id: string }
  | { readonly type: 'change'; readonly id: string; readonly change: Partial<Omit<Scene, 'id'>> }
  | { readonly type: 'move'; readonly id: string; readonly by: 1 | -1 }
  | { readonly type: 'remove'; readonly id: string }

export function edit(story: Story, action: Edit): Story {
  const { scenes } = story
  switch (action.type) {
    case 'restore':
      return action.story
    case 'title':
      return { ...story, title: action.title }
    case 'add':
      return { ...story, scenes: [...scenes, { id: action.id, place: '', text: '' }] }
    case 'change':
      return {
        ...story,
        scenes: scenes.map((scene) => (scene.id === action.id ? { ...scene, ...action.change } : scene)),
      }
    case 'move': {
      const from = scenes.findIndex(({ id }) => id === action.id)
      const moved = scenes[from]
      if (!moved) return story
      const others = scenes.toSpliced(from, 1)
      return { ...story, scenes: others.toSpliced(from + action.by, 0, moved) }
    }
    case 'remove':
      return { ...story, scenes: scenes.filter(({ id }) => id !== action.id) }
  }
}
