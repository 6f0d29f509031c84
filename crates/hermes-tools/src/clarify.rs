//! Questions of the model to the person.
